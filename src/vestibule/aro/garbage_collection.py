"""Deletions that nobody asked for: those of the garbage collector, which deletes what lost its owner.

A Cluster that is taken away without its finalizers, or moved without what belongs to it, leaves ARO objects
behind; if they were deleted for that, everything in Azure would go with them. So the garbage collector may
delete an object that holds our finalizer only while its owner is being deleted itself, which somebody asked
for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vestibule.aro import lifecycle, names
from vestibule.aro.embedded import Object
from vestibule.aro.findings import RuleError
from vestibule.aro.ports import ClusterReader, ObjectRef

COLLECTORS: Final = frozenset(
    {"system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager"}
)
"""Who the garbage collector is, with an account of its own or with that of all controllers."""


def unasked(user: str, obj: Object, reader: ClusterReader) -> Iterator[RuleError]:
    """What is said to the garbage collector where it may not delete. Raises as the reader does."""
    finalizer = names.FINALIZERS.get(str(obj.get("kind")))
    annotations = lifecycle.annotations_of(obj)
    if (
        user not in COLLECTORS
        or finalizer not in (obj["metadata"].get("finalizers") or ())
        or names.DELETE_FOR_MOVE in annotations
        or annotations.get(names.DELETE_WITHOUT_CLUSTER) == "true"
    ):
        return
    owners = [lifecycle.owner(obj, "Cluster"), lifecycle.owner(obj, "MachinePool")]
    cluster = lifecycle.labels_of(obj).get(names.CLUSTER_NAME)
    if cluster:
        owners.append(ObjectRef(names.CLUSTER_API, "Cluster", lifecycle.namespace(obj), cluster))
    for ref in owners:
        found = reader.get(ref) if ref is not None else None
        if found is not None and lifecycle.deleting(found):
            return
    yield RuleError(
        "",
        "Forbidden",
        f"{obj['kind']} {lifecycle.namespace(obj)}/{obj['metadata']['name']} lost its owner, and nobody "
        "asked to delete it: what it created in Azure would go, too. Delete it yourself if that is wanted",
    )
