"""Mending a pod by letting its controller make it anew: who may be evicted, and what became of it. Pure.

Only pods that a controller makes anew, one of a workload at a time, and only while the replacements are as
they should be: a webhook that is still broken would make evictions a loop that helps nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule.checks import running_pods
from vestibule.checks.pod_report import Cause, PodEntry

Object = Mapping[str, Any]
MAKERS: Final = ("ReplicaSet", "StatefulSet", "DaemonSet")
"""Controllers that make a pod anew and lose nothing by it."""
_CAUSES: Final[frozenset[Cause]] = frozenset({"BeforeRegistration", "WebhookAway", "Unknown"})
"""Being made anew helps, and nobody has changed their mind since."""
PATIENCE: Final = 300.0
"""Seconds in which a replacement should be there; a workload may have been scaled down meanwhile."""


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
        return "it has what it had asked for, or would not be served"
    if entry.cause not in _CAUSES:
        return f"the webhook was not missing then: {entry.reason}"
    if entry.controller is None:
        return "nothing makes it anew"
    if entry.controller.kind == "Job":
        return "" if jobs else "it belongs to a Job"
    return (
        "" if entry.controller.kind in MAKERS else f"a {entry.controller.kind} makes it, which we do not know"
    )


def is_complete(maker: Object, made: Sequence[Object]) -> bool:
    """Whether a workload has all its pods and none is on its way out: one may go."""
    if any(one["metadata"].get("deletionTimestamp") for one in made):
        return False
    wanted = (maker.get("spec") or {}).get("replicas")
    alive = sum(running_pods.alive(one) for one in made)
    return alive >= int(wanted) if isinstance(wanted, int) else True


def became(evicted: EvictedPod, made: Sequence[Object], missed: Collection[str], now: float) -> Became:
    """What became of an eviction. ``made`` are the workload's pods now, ``missed`` the uids of those that
    again lack what they ask for."""
    fresh = [one for one in made if one["metadata"]["uid"] not in evicted.known and running_pods.alive(one)]
    if any(one["metadata"]["uid"] in missed for one in fresh):
        return "missed"
    settled = [one for one in fresh if running_pods.ready(one) or not evicted.entry.ready]
    if settled:
        return "replaced"
    return "gone" if now - evicted.at > PATIENCE else "waiting"
