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
    """The value that a key has in the end, who said it, and who said something else in vain."""

    key: str
    value: str
    place: ValueSource
    shadowed: tuple[tuple[ValueSource, str], ...] = ()


class KeyClaims:
    """What was said about keys, the strongest first."""

    def __init__(self, prefix: str = "") -> None:
        """``prefix`` tells keys of one kind from those of others."""
        self._prefix = prefix
        self._made: dict[str, list[tuple[ValueSource, str]]] = {}

    def add(self, key: str, value: str, place: ValueSource) -> None:
        """Somebody wants a value for a key."""
        self._made.setdefault(key, []).append((place, value))

    def settled(self, before: Mapping[str, str], added: Mapping[str, str]) -> Iterator[ResolvedKey]:
        """Every key that has a value in the end and about which somebody said something; what the pod said
        ``before`` is first, and counts unless something else was ``added``."""
        for key, made in self._made.items():
            every = [(POD, before[key]), *made] if key in before else made
            value = added.get(key, before.get(key))
            if value is None:
                continue
            place = next((place for place, said in every if said == value), POD)
            shadowed = dict.fromkeys(one for one in every if one[1] != value)
            yield ResolvedKey(f"{self._prefix}{key}", value, place, tuple(shadowed))
