"""The walk from a pod to the workload that owns it.

Two ways, by rule. By kind: every owner reference in list order, by its kind alone, as cwii does. By
controller: the one controller reference, its group and uid compared, so that a forged or foreign reference
reads nothing that it should not. Both raise LookupUnknown for an object that the reader does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.injection.facts import UNKNOWN, LookupUnknown, OwnerRef, ReadObject, SourceObject


class OwnerChain(msgspec.Struct, frozen=True, gc=False):
    """The owners, in order of precedence, and what was skipped."""

    owners: tuple[SourceObject, ...]
    notes: tuple[str, ...] = ()


_DIRECT: Final = {"StatefulSet": gvk.STATEFUL_SET, "DaemonSet": gvk.DAEMON_SET, "Job": gvk.JOB}
_NO_OWNERS: Final = OwnerChain(())
_WALKED: Final = 8
"""Owner references that are followed; objects have one or two, and each may be a read from the API server."""


def by_kind(namespace: str, references: Sequence[OwnerRef], read: ReadObject) -> OwnerChain:
    """cwii's walk: the first reference whose object exists wins."""
    for reference in references[:_WALKED]:
        if reference.kind == "ReplicaSet":
            replica_set = read(gvk.REPLICA_SET, namespace, reference.name, reference.uid)
            if replica_set is UNKNOWN:
                raise LookupUnknown(gvk.REPLICA_SET, namespace, reference.name)
            if replica_set is None:
                continue
            for parent in replica_set.owners:
                if parent.kind == "Deployment":
                    deployment = read(gvk.DEPLOYMENT, namespace, parent.name, parent.uid)
                    if deployment is UNKNOWN:
                        raise LookupUnknown(gvk.DEPLOYMENT, namespace, parent.name)
                    if deployment is not None:
                        return OwnerChain((deployment,))
            return OwnerChain((replica_set,))
        kind = _DIRECT.get(reference.kind)
        if kind is not None:
            owner = read(kind, namespace, reference.name, reference.uid)
            if owner is UNKNOWN:
                raise LookupUnknown(kind, namespace, reference.name)
            if owner is not None:
                return OwnerChain((owner,))
    return _NO_OWNERS


_PARENTS: Final = {
    gvk.REPLICA_SET: gvk.DEPLOYMENT,
    gvk.JOB: gvk.CRON_JOB,
    gvk.STATEFUL_SET: None,
    gvk.DAEMON_SET: None,
}
"""Kinds that control pods, and the kind that may control them in turn."""
_CONTROLLERS: Final = {kind.kind: kind for kind in _PARENTS}


def by_controller(namespace: str, references: Sequence[OwnerRef], read: ReadObject) -> OwnerChain:
    """The controller and its own controller: Deployment before ReplicaSet, Job before CronJob."""
    reference = _controller(references)
    if reference is None:
        return _NO_OWNERS
    kind = _CONTROLLERS.get(reference.kind)
    if kind is None or not (reference.api_version == kind.api_version or _in_group(reference, kind)):
        return _NO_OWNERS
    owner = read(kind, namespace, reference.name, reference.uid)
    if owner is UNKNOWN:
        raise LookupUnknown(kind, namespace, reference.name)
    if owner is None:
        return _NO_OWNERS
    if owner.uid != reference.uid and _differ(owner, reference):
        return OwnerChain((), (f"{owner} is not what the pod's controller reference names (uid differs)",))
    parent_kind = _PARENTS[kind]
    parent_ref = _controller(owner.owners)
    if parent_kind is None or parent_ref is None:
        return OwnerChain((owner,))
    if parent_ref.kind != parent_kind.kind:
        return OwnerChain((owner,))
    if parent_ref.api_version != parent_kind.api_version and not _in_group(parent_ref, parent_kind):
        return OwnerChain((owner,))
    parent = read(parent_kind, namespace, parent_ref.name, parent_ref.uid)
    if parent is UNKNOWN:
        raise LookupUnknown(parent_kind, namespace, parent_ref.name)
    if parent is None:
        return OwnerChain((owner,))
    if parent.uid != parent_ref.uid and _differ(parent, parent_ref):
        return OwnerChain((owner,), (f"{parent} is not what {owner} names as its controller (uid differs)",))
    # a Deployment copies its annotations to ReplicaSets, where they grow stale; a Job is finer
    return OwnerChain((parent,) if kind is gvk.REPLICA_SET else (owner, parent))


def _controller(references: Sequence[OwnerRef]) -> OwnerRef | None:
    for reference in references:
        if reference.controller:
            return reference
    return None


def _in_group(reference: OwnerRef, kind: Kind) -> bool:
    """Any version of the kind's group will do."""
    return reference.api_version.rpartition("/")[0] == kind.group


def _differ(found: SourceObject, reference: OwnerRef) -> bool:
    """Whether both have a uid, and not the same one."""
    return bool(found.uid and reference.uid) and found.uid != reference.uid
