"""Where the values of a sandbox come from: who spoke about a key, who counts, and whom that shadows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

RUNTIME_CLASS: Final = "runtimeClassName"
RESOURCES: Final = "resources"


class Place(NamedTuple):
    """Who says something."""

    level: str
    """``pod``, ``rule`` or ``kataconfig``."""
    name: str
    """As people say it; of a pod, which part of it, and empty for its own annotations and labels."""


POD: Final = Place("pod", "")
SIZES: Final = Place("pod", "resources of its containers")


class Said(NamedTuple):
    """The value that a key has in the end, who said it, and who said something else in vain."""

    key: str
    value: str
    place: Place
    shadowed: tuple[tuple[Place, str], ...] = ()


class Claims:
    """What was said about keys, the strongest first."""

    def __init__(self, prefix: str = "") -> None:
        """``prefix`` tells keys of one kind from those of others."""
        self._prefix = prefix
        self._made: dict[str, list[tuple[Place, str]]] = {}

    def add(self, key: str, value: str, place: Place) -> None:
        """Somebody wants a value for a key."""
        self._made.setdefault(key, []).append((place, value))

    def settled(self, before: Mapping[str, str], added: Mapping[str, str]) -> Iterator[Said]:
        """Every key that has a value in the end and about which somebody said something; what the pod said
        ``before`` is first, and counts unless something else was ``added``."""
        for key, made in self._made.items():
            every = [(POD, before[key]), *made] if key in before else made
            value = added.get(key, before.get(key))
            if value is None:
                continue
            place = next((place for place, said in every if said == value), POD)
            shadowed = dict.fromkeys(one for one in every if one[1] != value)
            yield Said(f"{self._prefix}{key}", value, place, tuple(shadowed))
