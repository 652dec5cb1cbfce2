"""Repairing a pod by eviction, so that its controller recreates it: which pods, and with what result. Pure.

Only pods with a controller, one of a workload at a time, and only while the replacements get their identity:
with a webhook that is still broken, evictions would repeat without effect.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule.checks import running_pods
from vestibule.checks.pod_report import Cause, PodEntry

Object = Mapping[str, Any]
CONTROLLERS: Final = ("ReplicaSet", "StatefulSet", "DaemonSet")
"""Controllers that recreate a pod without loss."""
_CAUSES: Final[frozenset[Cause]] = frozenset({"BeforeRegistration", "WebhookAway", "Unknown"})
"""Causes that a recreated pod does not have."""
PATIENCE: Final = 300.0
"""Seconds in which a replacement should be ready; a workload may have been scaled down meanwhile."""


class EvictedPod(NamedTuple):
    """A pod whose replacement is waited for."""

    entry: PodEntry
    at: float
    """Seconds, on whatever clock."""
    known: frozenset[str]
    """Uids of the workload's pods when it went."""


Became = Literal["waiting", "replaced", "missed", "gone"]


def eligible(entry: PodEntry, *, jobs: bool = False) -> str:
    """Why a pod is not evicted; empty when it may be."""
    if not entry.missed:
        return "it has the identity that it requested, or would not get one"
    if entry.cause not in _CAUSES:
        return f"the webhook was available then: {entry.reason}"
    if entry.controller is None:
        return "no controller recreates it"
    if entry.controller.kind == "Job":
        return "" if jobs else "it belongs to a Job"
    return (
        ""
        if entry.controller.kind in CONTROLLERS
        else f"a {entry.controller.kind} controls it, which is not a known controller"
    )


def is_complete(controller: Object, pods: Sequence[Object]) -> bool:
    """Whether a workload has all its pods and none is terminating, so that one may be evicted."""
    if any(one["metadata"].get("deletionTimestamp") for one in pods):
        return False
    replicas = (controller.get("spec") or {}).get("replicas")
    alive = sum(running_pods.alive(one) for one in pods)
    return alive >= int(replicas) if isinstance(replicas, int) else True


def became(evicted: EvictedPod, pods: Sequence[Object], missed: Collection[str], now: float) -> Became:
    """The result of an eviction. ``pods`` are the workload's pods now, ``missed`` the uids of those that
    lack their identity again."""
    fresh = [one for one in pods if one["metadata"]["uid"] not in evicted.known and running_pods.alive(one)]
    if any(one["metadata"]["uid"] in missed for one in fresh):
        return "missed"
    settled = [one for one in fresh if running_pods.ready(one) or not evicted.entry.ready]
    if settled:
        return "replaced"
    return "gone" if now - evicted.at > PATIENCE else "waiting"
