"""One object under several conditions, as the text of a Helm template.

The object is given as it is when no condition holds, and as it is under each condition alone; what differs
gets an ``if``. Conditions must not depend on each other: two that change the same place give a template that
the comparison with real Helm refuses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import yaml

_GONE: Final = object()
_WIDE: Final = 100_000
"""No line is folded: a fold inside ``{{ }}`` would break it."""


class Case(NamedTuple):
    """The object when a condition of the template language holds."""

    condition: str
    tree: Any


def any_of(conditions: Sequence[str]) -> str:
    """A condition that holds when one of them does."""
    return conditions[0] if len(conditions) == 1 else f"or {' '.join(conditions)}"


def none_of(conditions: Sequence[str]) -> str:
    """A condition that holds when none of them does."""
    [first, *more] = conditions
    if not more:
        return first[5:-1] if first.startswith("(not ") else f"not {first}"
    return f"not (or {' '.join(conditions)})"


def lines(base: Any, cases: Sequence[Case], indent: int = 0) -> Iterator[str]:
    """The lines of a mapping or a list."""
    if isinstance(base, dict):
        yield from _mapping(base, cases, indent)
    else:
        yield from _sequence(base, cases, indent)


def _mapping(base: dict[str, Any], cases: Sequence[Case], indent: int) -> Iterator[str]:
    places = {key: [Case(case.condition, case.tree.get(key, _GONE)) for case in cases] for key in base}
    for case in cases:
        for key in case.tree:
            places.setdefault(key, [Case(other.condition, other.tree.get(key, _GONE)) for other in cases])
    for key, found in places.items():
        yield from _place(base.get(key, _GONE), found, indent, f"{key}:")


def _sequence(base: list[Any], cases: Sequence[Case], indent: int) -> Iterator[str]:
    keyed = _keyed(base)
    others = [(case.condition, _keyed(case.tree)) for case in cases]
    order = list(keyed)
    for _, items in others:
        before = -1
        for key in items:
            if key in order:
                before = order.index(key)
            else:
                before += 1
                order.insert(before, key)
    for key in order:
        found = [Case(condition, items.get(key, _GONE)) for condition, items in others]
        yield from _place(keyed.get(key, _GONE), found, indent, "-")


def _keyed(items: list[Any]) -> dict[tuple[str, int], Any]:
    """Items by what makes them the same ones in another list; the second of a kind is another one."""
    keyed: dict[tuple[str, int], Any] = {}
    for item in items:
        called = _identity(item)
        keyed[called, sum(called == other for other, _ in keyed)] = item
    return keyed


def _identity(item: Any) -> str:
    if isinstance(item, dict) and "name" in item:
        return f"name {item['name']}"
    if isinstance(item, dict) and "resources" in item:
        parts = (item.get("apiGroups"), item["resources"], item.get("verbs"), "resourceNames" in item)
        return json.dumps(parts)
    return json.dumps(item)


def _place(base: Any, cases: Sequence[Case], indent: int, head: str) -> Iterator[str]:
    """One key or one item, wrapped in what it depends on."""
    existing = [case for case in cases if case.tree is not _GONE]
    gone = [case.condition for case in cases if case.tree is _GONE]
    pad = " " * indent
    if base is _GONE:
        alike: list[tuple[Any, list[str]]] = []
        for case in existing:
            same = next((conditions for other, conditions in alike if other == case.tree), None)
            if same is None:
                alike.append((case.tree, [case.condition]))
            else:
                same.append(case.condition)
        for obj, conditions in alike:
            yield f"{pad}{{{{- if {any_of(conditions)} }}}}"
            yield from _plain(obj, indent, head)
            yield f"{pad}{{{{- end }}}}"
        return
    if gone:
        yield f"{pad}{{{{- if {none_of(gone)} }}}}"
    different = [case for case in existing if case.tree != base]
    if not different:
        yield from _plain(base, indent, head)
    elif all(isinstance(case.tree, type(base)) for case in different) and isinstance(base, dict | list):
        yield f"{pad}{head}"
        yield from lines(base, existing, indent + 2)
    else:
        for count, case in enumerate(different):
            yield f"{pad}{{{{- {'else ' if count else ''}if {case.condition} }}}}"
            yield from _plain(case.tree, indent, head)
        yield f"{pad}{{{{- else }}}}"
        yield from _plain(base, indent, head)
        yield f"{pad}{{{{- end }}}}"
    if gone:
        yield f"{pad}{{{{- end }}}}"


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _plain(value: Any, indent: int, head: str) -> Iterator[str]:
    """Text that depends on nothing."""
    full = [value] if head == "-" else {head.removesuffix(":"): value}
    text = yaml.dump(full, Dumper=_Dumper, sort_keys=False, width=_WIDE, allow_unicode=True)
    for line in text.splitlines():
        yield " " * indent + line
