"""Server-side apply, just enough of it: who owns which field of one object, and what an apply may change.

Pure functions over decoded objects. Fields are leaves of nested mappings; a list is one leaf (the API server
knows lists keyed by name, we do not need them). What names an object (apiVersion, kind, name, namespace) is
owned by nobody.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final

Field = tuple[str, ...]
Owners = dict[Field, frozenset[str]]
"""Field to the managers that hold it."""

_IDENTITY: Final = frozenset({("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")})
_ABSENT: Final = object()


def leaves(obj: Mapping[str, Any], path: Field = ()) -> Iterator[tuple[Field, Any]]:
    """Every leaf that somebody can own, with its value; an empty mapping is a leaf."""
    for name, value in obj.items():
        here = (*path, name)
        if isinstance(value, Mapping) and value:
            yield from leaves(value, here)
        elif here not in _IDENTITY:
            yield here, value


def conflicts(
    live: Mapping[str, Any], owners: Owners, wanted: Mapping[str, Any], manager: str
) -> dict[Field, str]:
    """Fields that this manager would change although others own them, with one of those owners."""
    found: dict[Field, str] = {}
    changed = {path for path, value in leaves(wanted) if _differs(_at(live, path), value)}
    for path, holders in owners.items():
        others = holders - {manager}
        if others and any(_overlap(path, other) for other in changed):
            found[path] = min(others)
    return found


def applied(
    live: Mapping[str, Any], owners: Owners, wanted: Mapping[str, Any], manager: str
) -> tuple[dict[str, Any], Owners]:
    """The object and its owners after a forced apply; fields that this manager let go of are removed."""
    result = copy.deepcopy(dict(live))
    kept: Owners = {}
    claimed = dict(leaves(wanted))
    changed = {path for path, value in claimed.items() if _differs(_at(live, path), value)}
    for path, holders in owners.items():
        if any(_overlap(path, other) for other in changed):
            continue  # taken over by force
        left = holders - {manager}
        if left:
            kept[path] = left
        elif not any(other[: len(path)] == path for other in claimed):
            _remove(result, path)
    _merge(result, wanted)
    for path in claimed:
        kept[path] = kept.get(path, frozenset()) | {manager}
    return result, kept


def replaced(live: Mapping[str, Any], owners: Owners, new: Mapping[str, Any], manager: str) -> Owners:
    """The owners after a plain update: who changes a field owns it alone."""
    before = dict(leaves(live))
    return {
        path: owners.get(path, frozenset({manager}))
        if before.get(path, _ABSENT) == value
        else frozenset({manager})
        for path, value in leaves(new)
    }


def _overlap(one: Field, other: Field) -> bool:
    """Whether one field is the other or lies inside it."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _differs(live: Any, wanted: Any) -> bool:
    """Whether setting ``wanted`` changes what is there; an empty mapping is merged, so it never does."""
    return bool(live != wanted) and not (isinstance(live, Mapping) and wanted == {})


def _at(obj: Any, path: Field) -> Any:
    for name in path:
        if not isinstance(obj, Mapping) or name not in obj:
            return _ABSENT
        obj = obj[name]
    return obj


def _remove(obj: dict[str, Any], path: Field) -> None:
    parent = _at(obj, path[:-1])
    if isinstance(parent, dict):
        parent.pop(path[-1], None)


def _merge(into: dict[str, Any], wanted: Mapping[str, Any]) -> None:
    for name, value in wanted.items():
        present = into.get(name)
        if isinstance(present, dict) and isinstance(value, Mapping):
            _merge(present, value)
        else:
            into[name] = copy.deepcopy(value)
