"""What the three ARO kinds have in common: their owner, pause, first touch, deletion, and how a status is
written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from vestibule.core.aro import embedded, engine, names
from vestibule.core.aro.embedded import Object
from vestibule.core.aro.engine import Settled
from vestibule.core.aro.world import Pass, Ref, Told, World
from vestibule.core.kinds import conditions
from vestibule.core.kinds.conditions import Condition

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


def owner(obj: Mapping[str, Any], kind: str) -> Ref | None:
    """The owner of a kind of Cluster API, by reference."""
    for one in (obj.get("metadata") or {}).get("ownerReferences") or ():
        group = str(one.get("apiVersion") or "").rpartition("/")[0]
        if one.get("kind") == kind and group == names.CLUSTER_API:
            return Ref(group, kind, namespace(obj), str(one.get("name")))
    return None


def owner_cluster(obj: Mapping[str, Any], world: World) -> Object | None:
    """The Cluster that owns an object; None when there is no reference, or nobody behind it."""
    reference = owner(obj, "Cluster")
    return world.get(reference) if reference is not None else None


def paused(obj: Mapping[str, Any], cluster: Mapping[str, Any] | None) -> bool:
    """Whether somebody paused it, or its Cluster."""
    whole = bool(cluster and (cluster.get("spec") or {}).get("paused"))
    return whole or names.PAUSED in annotations_of(obj)


def refers_to(reference: object, kind: str, group: str) -> bool:
    """Whether a reference of the Cluster names this kind, in either of its forms."""
    if not isinstance(reference, Mapping):
        return False
    found = str(reference.get("apiGroup") or str(reference.get("apiVersion") or "").rpartition("/")[0])
    return reference.get("kind") == kind and found == group


def touched(obj: Object) -> Pass | None:
    """The first touch: finalizer and the annotation that keeps clusterctl from moving too early; None when
    both are there."""
    held = names.FINALIZERS[obj["kind"]] in (obj["metadata"].get("finalizers") or ())
    blocked = names.BLOCK_MOVE in annotations_of(obj)
    if held and blocked:
        return None
    return Pass(
        outcome="requeue",
        after=0.0,
        finalizer=None if held else True,
        annotations={} if blocked else {names.BLOCK_MOVE: "true"},
    )


def status(
    obj: Object,
    world: World,
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
        now=world.now,
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


def pausing(obj: Object, world: World) -> Pass:
    """All stays as it is; Azure Service Operator is told to leave it alone, and clusterctl may move."""
    try:
        changes = engine.pause(obj, embedded.resources(obj), world)
    except engine.Incompatible as error:
        return stuck(obj, world, names.INCOMPATIBLE, str(error))
    lifted: dict[str, str | None] = (
        {names.BLOCK_MOVE: None} if names.BLOCK_MOVE in annotations_of(obj) else {}
    )
    said = conditions.yes(names.PAUSED_CONDITION, "Paused")
    events = () if _holds(obj, names.PAUSED_CONDITION) else (Told("Paused", "reconciling is paused"),)
    return Pass(annotations=lifted, changes=changes, status=status(obj, world, [said]), events=events)


def stuck(obj: Object, world: World, reason: str, message: str, *more: Condition, **fields: Any) -> Pass:
    """A human must act."""
    known = conditions.find((obj.get("status") or {}).get("conditions"), names.READY)
    new = known is None or known.get("reason") != reason
    return Pass(
        outcome="terminal",
        message=message,
        status=status(obj, world, [conditions.no(names.READY, reason, message), *more], **fields),
        events=(Told(reason, message, warning=True),) if new else (),
    )


def failed(obj: Object, world: World, reason: str, message: str, *more: Condition, **fields: Any) -> Pass:
    """It is tried again, and the user sees why it must be."""
    return Pass(
        outcome="error",
        message=message,
        status=status(obj, world, [conditions.no(names.READY, reason, message), *more], **fields),
    )


def leave(obj: Object, world: World, settled: Settled) -> Pass:
    """One pass of a deletion: what is left is told; when nothing is, the finalizer goes."""
    if not settled.standings:
        return Pass(annotations=owned_annotation(obj, ""), finalizer=False)
    left = ", ".join(map(str, settled.standings))
    said = conditions.yes(names.DELETING, "WaitingForResources", f"waiting until these are gone: {left}")
    down = conditions.no(names.READY, "Deleting", f"being deleted; left: {left}")
    new = not _holds(obj, names.DELETING)
    return Pass(
        outcome="requeue",
        after=DELETE_SECONDS,
        annotations=owned_annotation(obj, settled.owned),
        changes=settled.changes,
        deletions=settled.deletions,
        status=status(obj, world, [said, down], resources=settled.resources()),
        events=(Told("Deleting", f"deleting {left}"),) if new else (),
    )


def holds(obj: Mapping[str, Any] | None, kind: str) -> bool:
    """Whether a condition of an object is True."""
    return _holds(obj or {}, kind)


def _holds(obj: Mapping[str, Any], kind: str) -> bool:
    found = conditions.find((obj.get("status") or {}).get("conditions"), kind)
    return found is not None and found.get("status") == "True"
