"""Deletions that nobody asked for: those of the garbage collector, which deletes what lost its owner.

A Cluster that is taken away without its finalizers, or moved without what belongs to it, leaves ARO objects
behind; if they were deleted for that, everything in Azure would go with them. So the garbage collector may
delete an object that holds our finalizer only while its owner is being deleted itself, which somebody asked
for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vestibule.core.aro import names, subject
from vestibule.core.aro.embedded import Object
from vestibule.core.aro.findings import Error
from vestibule.core.aro.world import Ref, World

COLLECTORS: Final = frozenset(
    {"system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager"}
)
"""Who the garbage collector is, with an account of its own or with that of all controllers."""


def unasked(user: str, obj: Object, world: World) -> Iterator[Error]:
    """What is said to the garbage collector where it may not delete. Raises as the world does."""
    finalizer = names.FINALIZERS.get(str(obj.get("kind")))
    annotations = subject.annotations_of(obj)
    if (
        user not in COLLECTORS
        or finalizer not in (obj["metadata"].get("finalizers") or ())
        or names.DELETE_FOR_MOVE in annotations
        or annotations.get(names.DELETE_WITHOUT_CLUSTER) == "true"
    ):
        return
    owners = [subject.owner(obj, "Cluster"), subject.owner(obj, "MachinePool")]
    cluster = subject.labels_of(obj).get(names.CLUSTER_NAME)
    if cluster:
        owners.append(Ref(names.CLUSTER_API, "Cluster", subject.namespace(obj), cluster))
    for ref in owners:
        found = world.get(ref) if ref is not None else None
        if found is not None and subject.deleting(found):
            return
    yield Error(
        "",
        "Forbidden",
        f"{obj['kind']} {subject.namespace(obj)}/{obj['metadata']['name']} lost its owner, and nobody asked "
        "to delete it: what it created in Azure would go, too. Delete it yourself if that is wanted",
    )
