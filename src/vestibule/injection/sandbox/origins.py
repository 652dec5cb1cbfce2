"""Where the values of a sandbox come from: who spoke about a key, who counts, and whom that shadows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

RUNTIME_CLASS: Final = "runtimeClassName"
RESOURCES: Final = "resources"


class ValueSource(NamedTuple):
    """Who says something."""

    level: str
    """``pod``, ``rule`` or ``kataconfig``."""
    name: str
    """As people say it; of a pod, which part of it, and empty for its own annotations and labels."""


POD: Final = ValueSource("pod", "")
SIZES: Final = ValueSource("pod", "resources of its containers")


class ResolvedKey(NamedTuple):
    """The final value of a key, its source, and the sources whose values were overridden."""

    key: str
    value: str
    place: ValueSource
    shadowed: tuple[tuple[ValueSource, str], ...] = ()


class KeyClaims:
    """The values of keys by source, in order of precedence."""

    def __init__(self, prefix: str = "") -> None:
        """``prefix`` distinguishes keys of one kind from those of others."""
        self._prefix = prefix
        self._claims: dict[str, list[tuple[ValueSource, str]]] = {}

    def add(self, key: str, value: str, place: ValueSource) -> None:
        """Record a source's value for a key."""
        self._claims.setdefault(key, []).append((place, value))

    def settled(self, before: Mapping[str, str], added: Mapping[str, str]) -> Iterator[ResolvedKey]:
        """Every key with a final value and a source; the pod's value from ``before`` is first, and is used
        unless something else was ``added``."""
        for key, claims in self._claims.items():
            every = [(POD, before[key]), *claims] if key in before else claims
            value = added.get(key, before.get(key))
            if value is None:
                continue
            place = next((place for place, claimed in every if claimed == value), POD)
            shadowed = dict.fromkeys(one for one in every if one[1] != value)
            yield ResolvedKey(f"{self._prefix}{key}", value, place, tuple(shadowed))
