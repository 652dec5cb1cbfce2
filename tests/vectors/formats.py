"""The format of a case as data: which keys are known at which place.

A family describes its format with ``ANY``, ``PROSE``, ``Each``, a list with one member, or a mapping of the
known keys. A key outside it fails the case before anything runs: a wish that nobody looks at is no test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

ANY: Final = "any"
"""Data: an object of Kubernetes, a value, or something that is compared as a whole."""
PROSE: Final = "prose"
"""For readers: where a case comes from, what upstream does. Nothing of it is checked."""


class Each(NamedTuple):
    """An object whose keys are names, with the format of every value."""

    of: Format


Format = str | Each | list[Any] | Mapping[str, Any]


def unknown(value: Any, known: Format, place: str = "") -> Iterator[str]:
    """Every key of the value that the format does not know, by its place; an empty list has none."""
    if isinstance(known, str) or not isinstance(value, dict | list):
        return
    if isinstance(value, list):
        if not isinstance(known, list):
            yield from (f"{place}: is a list, want an object" for _ in value[:1])
            return
        for number, member in enumerate(value):
            yield from unknown(member, known[0], f"{place}[{number}]")
    elif isinstance(known, list):
        yield f"{place}: is an object, want a list"
    else:
        for key, member in value.items():
            where = f"{place}.{key}" if place else str(key)
            if isinstance(known, Each):
                yield from unknown(member, known.of, where)
            elif key in known:
                yield from unknown(member, known[key], where)
            else:
                yield f"{where}: the runner does not know this key"


def objects(value: Any, known: Format, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the value whose keys the format lists, with its place."""
    if isinstance(known, str):
        return
    if isinstance(value, list) and isinstance(known, list):
        for number, member in enumerate(value):
            yield from objects(member, known[0], f"{place}[{number}]")
    elif isinstance(value, dict) and not isinstance(known, list):
        if not isinstance(known, Each):
            yield place, value
        for key, member in value.items():
            where = f"{place}.{key}" if place else str(key)
            yield from objects(member, known.of if isinstance(known, Each) else known[key], where)
