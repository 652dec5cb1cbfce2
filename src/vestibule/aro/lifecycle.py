"""What the three ARO kinds have in common: their owner, pause, first touch, deletion, and how a status is
written."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any, Final

from vestibule.api import conditions
from vestibule.api.conditions import Condition
from vestibule.aro import aso_resources, embedded, names, ownership
from vestibule.aro.aso_resources import ReconcilePlan
from vestibule.aro.embedded import Object
from vestibule.aro.ports import ClusterReader, ObjectEvent, ObjectRef, ReconcileResult

_PAUSED: Final = "reconciling is paused"
DELETE_SECONDS: Final = 15.0
"""Between two looks at what is being deleted, should no watch tell of it."""


def annotations_of(obj: Mapping[str, Any]) -> dict[str, str]:
    """Never None."""
    return (obj.get("metadata") or {}).get("annotations") or {}


def labels_of(obj: Mapping[str, Any]) -> dict[str, str]:
    """Never None."""
    return (obj.get("metadata") or {}).get("labels") or {}


def namespace(obj: Mapping[str, Any]) -> str:
    """Of the object."""
    return str(obj["metadata"].get("namespace") or "")


def deleting(obj: Mapping[str, Any]) -> bool:
    """Whether somebody deleted it."""
    return bool((obj.get("metadata") or {}).get("deletionTimestamp"))


def owner(obj: Mapping[str, Any], kind: str) -> ObjectRef | None:
    """The owner of a kind of Cluster API, by reference."""
    one = _owner_reference(obj, kind)
    return (
        ObjectRef(names.CLUSTER_API, kind, namespace(obj), str(one.get("name"))) if one is not None else None
    )


def _owner_reference(obj: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    for one in ownership.references(obj):
        group = str(one.get("apiVersion") or "").rpartition("/")[0]
        if one.get("kind") == kind and group == names.CLUSTER_API:
            return one
    return None


def owner_cluster(obj: Mapping[str, Any], reader: ClusterReader) -> Object | None:
    """The Cluster that owns an object; None when there is no reference, or nobody behind it."""
    reference = owner(obj, "Cluster")
    return reader.get(reference) if reference is not None else None


def paused(obj: Mapping[str, Any], cluster: Mapping[str, Any] | None) -> bool:
    """Whether somebody paused it, or its Cluster."""
    whole = bool(cluster and (cluster.get("spec") or {}).get("paused"))
    return whole or names.PAUSED in annotations_of(obj)


def refers_back(reference: object, obj: Mapping[str, Any]) -> bool:
    """Whether a reference of an owner names this very object: everybody can name somebody as their owner."""
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    if not isinstance(reference, Mapping) or not refers_to(reference, str(obj["kind"]), group):
        return False
    where = reference.get("namespace") or namespace(obj)
    return reference.get("name") == obj["metadata"]["name"] and where == namespace(obj)


def refers_to(reference: object, kind: str, group: str) -> bool:
    """Whether a reference of the Cluster names this kind, in either of its forms."""
    if not isinstance(reference, Mapping):
        return False
    found = str(reference.get("apiGroup") or str(reference.get("apiVersion") or "").rpartition("/")[0])
    return reference.get("kind") == kind and found == group


def touched(obj: Object) -> ReconcileResult | None:
    """The first touch: finalizer and the annotation that keeps clusterctl from moving too early; None when
    both are there."""
    held = names.FINALIZERS[obj["kind"]] in (obj["metadata"].get("finalizers") or ())
    blocked = names.BLOCK_MOVE in annotations_of(obj)
    if held and blocked:
        return None
    return ReconcileResult(
        outcome="requeue",
        after=0.0,
        finalizer=None if held else True,
        annotations={} if blocked else {names.BLOCK_MOVE: "true"},
    )


def status(
    obj: Object,
    reader: ClusterReader,
    wanted: Iterable[Condition],
    *,
    retired: Iterable[str] = (),
    **fields: Any,
) -> Object:
    """The status with these conditions and fields; a field given as None goes."""
    before: Object = obj.get("status") or {}
    merged = conditions.merged(
        before.get("conditions"),
        wanted,
        now=reader.now,
        generation=int(obj["metadata"].get("generation") or 0),
        retired=retired,
    )
    first = {names.READY: 0, names.AVAILABLE: 0}
    ordered = sorted(merged, key=lambda one: (first.get(one["type"], 1), one["type"]))
    after = {**before, **fields, "conditions": ordered}
    return {key: value for key, value in after.items() if value is not None}


def owned_annotation(obj: Object, owned: str) -> dict[str, str | None]:
    """The change of the annotation of owned kinds; empty when it is as it should be."""
    before = annotations_of(obj).get(names.OWNED_KINDS) or ""
    same = set(before.split(";")) == set(owned.split(";"))  # the order says nothing
    return {} if same else {names.OWNED_KINDS: owned or None}


def not_paused() -> Condition:
    """The condition while we work."""
    return conditions.no(names.PAUSED_CONDITION, "NotPaused")


def pausing(obj: Object, reader: ClusterReader) -> ReconcileResult:
    """All stays as it is; Azure Service Operator is told to leave it alone, and clusterctl may move."""
    try:
        changes = aso_resources.pause(obj, embedded.resources(obj, reader.permitted), reader)
    except aso_resources.IncompatibleValue as error:
        return stuck(obj, reader, names.INCOMPATIBLE, str(error))
    except aso_resources.UnreadableKind as error:
        return failed(obj, reader, "ReadFailed", str(error))
    lifted: dict[str, str | None] = (
        {names.BLOCK_MOVE: None} if names.BLOCK_MOVE in annotations_of(obj) else {}
    )
    text = f"{_PAUSED}: it is being deleted, and nothing is deleted until it is resumed"
    said = conditions.yes(names.PAUSED_CONDITION, "Paused", text if deleting(obj) else "")
    events: tuple[ObjectEvent, ...] = (
        () if _holds(obj, names.PAUSED_CONDITION) else (ObjectEvent("Paused", _PAUSED),)
    )
    if deleting(obj):
        events = (*events, ObjectEvent("Paused", text, warning=True))
    return ReconcileResult(
        annotations=lifted, changes=changes, status=status(obj, reader, [said]), events=events
    )


def unasked(obj: Object, kind: str, found: Object | None, reader: ClusterReader) -> str:
    """Why the deletion of an object is not carried out; empty when it is. ``found`` is its owner of a kind of
    Cluster API. Where that is gone, the garbage collector deletes what it owned, and so does whoever moves a
    Cluster without what belongs to it: nobody wanted anything in Azure to go."""
    reference = _owner_reference(obj, kind)
    if reference is None:
        return ""  # it never had one, so nobody deletes it but who means it
    if found is not None and reference.get("uid") in (None, "", found["metadata"].get("uid")):
        return ""
    if annotations_of(obj).get(names.DELETE_WITHOUT_CLUSTER) == "true":
        return ""
    since = reader.deletions_checked
    if _holds(obj, names.PAUSED_CONDITION):
        why = "it was paused when that went"
    elif since is not None and _deleted_at(obj) > since:
        return ""
    else:
        why = "nobody is known to have asked for this deletion"
    return (
        f"{kind} {reference.get('name')}, its owner, is not there, and {why}: nothing is deleted; annotate "
        f"it with {names.DELETE_WITHOUT_CLUSTER}: 'true' to delete what it created, or remove its finalizer "
        "to leave everything as it is"
    )


def _deleted_at(obj: Object) -> datetime.datetime:
    try:
        found = datetime.datetime.fromisoformat(str(obj["metadata"].get("deletionTimestamp")))
    except ValueError:
        return datetime.datetime.min.replace(tzinfo=datetime.UTC)
    return found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)


def spared(obj: Object, reader: ClusterReader, why: str) -> ReconcileResult:
    """It is being deleted, and nobody asked for that: nothing is torn down."""
    known = conditions.find((obj.get("status") or {}).get("conditions"), names.DELETING)
    new = known is None or known.get("reason") != names.OWNER_MISSING
    said = [conditions.no(kind, names.OWNER_MISSING, why) for kind in (names.DELETING, names.READY)]
    return ReconcileResult(
        outcome="requeue",
        after=DELETE_SECONDS,
        message=why,
        status=status(obj, reader, said),
        events=(ObjectEvent(names.OWNER_MISSING, why, warning=True),) if new else (),
    )


def ownerless(obj: Object, kind: str, reader: ClusterReader) -> ReconcileResult:
    """Its owner is not there: nothing is changed and nothing deleted, and that is said. Nothing is, where it
    never had one."""
    reference = _owner_reference(obj, kind)
    if reference is None:
        return ReconcileResult()
    text = f"{kind} {reference.get('name')}, its owner, is not there: nothing is changed and nothing deleted"
    known = conditions.find((obj.get("status") or {}).get("conditions"), names.READY)
    new = known is None or known.get("reason") != names.OWNER_MISSING
    return ReconcileResult(
        status=status(obj, reader, [conditions.no(names.READY, names.OWNER_MISSING, text)]),
        events=(ObjectEvent(names.OWNER_MISSING, text, warning=True),) if new else (),
    )


def stuck(
    obj: Object, reader: ClusterReader, reason: str, message: str, *more: Condition, **fields: Any
) -> ReconcileResult:
    """A human must act."""
    known = conditions.find((obj.get("status") or {}).get("conditions"), names.READY)
    new = known is None or known.get("reason") != reason
    return ReconcileResult(
        outcome="terminal",
        message=message,
        status=status(obj, reader, [conditions.no(names.READY, reason, message), *more], **fields),
        events=(ObjectEvent(reason, message, warning=True),) if new else (),
    )


def failed(
    obj: Object, reader: ClusterReader, reason: str, message: str, *more: Condition, **fields: Any
) -> ReconcileResult:
    """It is tried again, and the user sees why it must be."""
    return ReconcileResult(
        outcome="error",
        message=message,
        status=status(obj, reader, [conditions.no(names.READY, reason, message), *more], **fields),
    )


def leave(obj: Object, reader: ClusterReader, settled: ReconcilePlan) -> ReconcileResult:
    """One pass of a deletion: what is left is told; when nothing is, the finalizer goes."""
    if not settled.standings:
        return ReconcileResult(annotations=owned_annotation(obj, ""), finalizer=False)
    left = ", ".join(map(str, settled.standings))
    said = conditions.yes(names.DELETING, "WaitingForResources", f"waiting until these are gone: {left}")
    down = conditions.no(names.READY, "Deleting", f"being deleted; left: {left}")
    new = not _holds(obj, names.DELETING)
    return ReconcileResult(
        outcome="requeue",
        after=DELETE_SECONDS,
        annotations=owned_annotation(obj, settled.owned),
        changes=settled.changes,
        deletions=settled.deletions,
        status=status(obj, reader, [said, down], resources=settled.resources()),
        events=(ObjectEvent("Deleting", f"deleting {left}"),) if new else (),
    )


def holds(obj: Mapping[str, Any] | None, kind: str) -> bool:
    """Whether a condition of an object is True."""
    return _holds(obj or {}, kind)


def _holds(obj: Mapping[str, Any], kind: str) -> bool:
    found = conditions.find((obj.get("status") or {}).get("conditions"), kind)
    return found is not None and found.get("status") == "True"
