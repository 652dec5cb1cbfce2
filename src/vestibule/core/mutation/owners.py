"""The walk from a pod to the workload that owns it, as questions: yields what to read, is sent what was
found.

Two ways, by rule. By kind: every owner reference in list order, by its kind alone, as the original does. By
controller: the one controller reference, its group and uid compared, so that a forged or foreign reference
reads nothing that it should not.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final, NamedTuple

from vestibule.core.kinds import gvk
from vestibule.core.kinds.gvk import Kind
from vestibule.core.mutation.facts import OwnerRef, Source


class Need(NamedTuple):
    """An object that must be read before a pod can be decided."""

    kind: Kind
    namespace: str
    name: str


class Walked(NamedTuple):
    """The owners that count, strongest first, and what was passed over."""

    owners: tuple[Source, ...]
    notes: tuple[str, ...] = ()


Walk = Generator[Need, Source | None, Walked]

_DIRECT: Final = {"StatefulSet": gvk.STATEFUL_SET, "DaemonSet": gvk.DAEMON_SET, "Job": gvk.JOB}
_NOBODY: Final = Walked(())


def by_kind(namespace: str, references: Sequence[OwnerRef]) -> Walk:
    """The original's walk: the first reference whose object exists wins."""
    for reference in references:
        if reference.kind == "ReplicaSet":
            replica_set = yield Need(gvk.REPLICA_SET, namespace, reference.name)
            if replica_set is None:
                continue
            for parent in replica_set.owners:
                if parent.kind == "Deployment":
                    deployment = yield Need(gvk.DEPLOYMENT, namespace, parent.name)
                    if deployment is not None:
                        return Walked((deployment,))
            return Walked((replica_set,))
        kind = _DIRECT.get(reference.kind)
        if kind is not None:
            owner = yield Need(kind, namespace, reference.name)
            if owner is not None:
                return Walked((owner,))
    return _NOBODY


_CONTROLLERS: Final = {
    (kind.group, kind.kind): kind for kind in (gvk.REPLICA_SET, gvk.STATEFUL_SET, gvk.DAEMON_SET, gvk.JOB)
}
_PARENTS: Final = {gvk.REPLICA_SET: gvk.DEPLOYMENT, gvk.JOB: gvk.CRON_JOB}


def by_controller(namespace: str, references: Sequence[OwnerRef]) -> Walk:
    """The controller and its own controller: Deployment before ReplicaSet, Job before CronJob."""
    reference = next((reference for reference in references if reference.controller), None)
    if reference is None:
        return _NOBODY
    kind = _CONTROLLERS.get((_group(reference), reference.kind))
    if kind is None:
        return _NOBODY
    owner = yield Need(kind, namespace, reference.name)
    if owner is None:
        return _NOBODY
    if not _same(owner, reference):
        return Walked(
            (),
            (f"{owner} is not the object the pod's controller reference names (uid differs): passed over",),
        )
    parent_kind = _PARENTS.get(kind)
    if parent_kind is None:
        return Walked((owner,))
    parent_ref = next((ref for ref in owner.owners if ref.controller), None)
    if parent_ref is None or (_group(parent_ref), parent_ref.kind) != (parent_kind.group, parent_kind.kind):
        return Walked((owner,))
    parent = yield Need(parent_kind, namespace, parent_ref.name)
    if parent is None:
        return Walked((owner,))
    if not _same(parent, parent_ref):
        return Walked(
            (owner,), (f"{parent} is not the object that {owner} names (uid differs): passed over",)
        )
    # a Deployment copies its annotations to ReplicaSets, where they grow stale; a Job is finer
    return Walked((parent,) if kind is gvk.REPLICA_SET else (owner, parent))


def _group(reference: OwnerRef) -> str:
    group, slash, _ = reference.api_version.partition("/")
    return group if slash else ""


def _same(found: Source, reference: OwnerRef) -> bool:
    return not found.uid or not reference.uid or found.uid == reference.uid
