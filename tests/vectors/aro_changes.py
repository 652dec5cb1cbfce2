"""What a case of the aro family says about objects that were created, deleted or left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tests.vectors.aro_cluster import Stage
from vestibule.aro import embedded, names, ownership

Json = dict[str, Any]


def as_applied(wanted: Json, live: Json, owner_uid: str = "") -> Iterator[str]:
    """In what an object differs from the description of a case."""
    for key, value in wanted.items():
        if key in ("kind", "name"):
            continue
        if key == "paths":
            for path, want in value.items():
                if embedded.value(live, path) != want:
                    yield f"{path}: got {embedded.value(live, path)!r}, want {want!r}"
        elif key == "namespace":
            if live["metadata"].get("namespace") != value:
                yield f"namespace: got {live['metadata'].get('namespace')}"
        elif key == "controllerOwner":
            holder = ownership.controller(live) or {}
            if f"{holder.get('kind')}/{holder.get('name')}" != value:
                yield f"controller: got {holder}"
            if owner_uid and holder.get("uid") != owner_uid:
                yield "controller has another uid"
        elif key == "fieldManager":
            if value != names.MANAGER:
                yield f"field manager: ours is {names.MANAGER}"
        elif key == "force":
            if value is not True:
                yield "we apply with force"
        else:
            yield f"the runner does not know {key} of an applied object"


def _created(wanted: Any, stage: Stage) -> Iterator[str]:
    """These came into being; an empty list: nothing did."""
    found = {f"{key[1]}/{key[3]}": one for key, one in stage.objects.items() if key not in stage.before}
    listed = {_text(one): one for one in wanted}
    if found and not wanted:
        yield f"got {sorted(found)}, want none"
    for name, one in listed.items():
        if name not in found:
            yield f"{name} is not among {sorted(found)}"
        elif isinstance(one, dict):
            yield from (f"{name}: {text}" for text in as_applied(one, found[name]))


def _deleted(wanted: Any, stage: Stage) -> Iterator[str]:
    found = {f"{one.kind}/{one.name}" for one in stage.deleted}
    want = set(map(_text, wanted))
    if found != want:
        yield f"got {sorted(found)}, want {sorted(want)}"


def _not_deleted(wanted: Any, stage: Stage) -> Iterator[str]:
    for name in map(_text, wanted):
        found = stage.find(*name.split("/"))
        if found is None or found["metadata"].get("deletionTimestamp"):
            yield f"{name} is deleted"
        if name in {f"{one.kind}/{one.name}" for one in stage.deleted}:
            yield f"a delete of {name} was sent"


def _unchanged(wanted: Any, stage: Stage) -> Iterator[str]:
    """These objects, or with true all that were there, are as before."""
    for key, before in stage.before.items():
        name = f"{key[1]}/{key[3]}"
        if (wanted is True or name in set(map(_text, wanted))) and stage.objects.get(key) != before:
            yield f"{name} is {stage.objects.get(key)!r}, was {before!r}"
    if wanted is not True:
        existing = {f"{key[1]}/{key[3]}" for key in stage.before}
        yield from (f"{name} was never there" for name in map(_text, wanted) if name not in existing)


def _not_reached(wanted: Any, stage: Stage) -> Iterator[str]:
    """Nothing is written to these namespaces."""
    for namespace in [wanted] if isinstance(wanted, str) else wanted:
        yield from (f"{what} in {namespace}" for what, where in stage.written if where == namespace)


def _text(one: str | Json) -> str:
    return one if isinstance(one, str) else f"{one['kind']}/{one['name']}"


CHANGES: Mapping[str, Callable[[Any, Stage], Iterable[str]]] = {
    "created": _created,
    "deleted": _deleted,
    "notDeleted": _not_deleted,
    "unchanged": _unchanged,
    "namespaceMustNotReach": _not_reached,
}
"""By the key of a case."""
