"""Events about pods that were missed, on the workloads that make them: few, and each only when it is news."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestibule import errors
from vestibule.api import gvk
from vestibule.checks.pod_report import PodEntry
from vestibule.diagnose.audit.evictions import EvictionOutcome
from vestibule.diagnose.audit.summary import AffectedWorkload
from vestibule.kube import lister
from vestibule.kube.client import Client
from vestibule.operator.events import Events

Object = dict[str, Any]
_MOST: Final = 20
"""Workloads that are told in one audit; the condition counts all."""
_RESULTS: Final = {
    "evicted": ("EvictedForIdentity", "evicted, so that it is made anew with what it asks for"),
    "would-evict": ("WouldEvict", "would be evicted (DryRun)"),
    "blocked": ("EvictionPostponed", "not evicted yet"),
    "missed": ("ReplacementMissed", "repair has ended"),
}


async def missed(
    client: Client, events: Events, hits: Mapping[str, AffectedWorkload], told: dict[str, str]
) -> None:
    """Tell workloads that are hit, where it is news; ``told`` remembers, and forgets who is well again."""
    for name in [name for name in told if name not in hits]:
        del told[name]
    fresh = 0
    for name, hit in sorted(hits.items()):
        entry = hit.entry
        pods = "a pod" if hit.number == 1 else f"{hit.number} pods"
        note = f"{pods} of it: {entry.drift.text}; {entry.reason}; {entry.advice}"
        news = f"{pods}: {entry.cause}: {entry.drift.text}"
        if told.get(name) == news or fresh == _MOST:
            continue
        fresh += 1
        told[name] = news
        await events.tell(await _about(client, entry), "PodsMissed", note, "Audit", "Warning")


async def outcome(client: Client, events: Events, one: EvictionOutcome) -> None:
    """Tell what became of one pod."""
    if one.result not in _RESULTS:
        return
    reason, words = _RESULTS[one.result]
    note = f"Pod {one.entry.name}: {words}{f': {one.text}' if one.text else ''}"
    about = await _about(client, one.entry)
    await events.tell(about, reason, note, "Evict", "Warning" if one.result == "missed" else "Normal")


async def _about(client: Client, entry: PodEntry) -> Object:
    """The workload, or the pod itself where nothing makes it or it cannot be read."""
    name, _, rest = entry.owner.partition(" ")
    kind = gvk.BY_KIND.get(name)
    if kind is not None:
        try:
            found = await lister.one(client, kind, entry.namespace, rest)
        except (errors.Forbidden, errors.Unavailable):
            found = None
        if found is not None:
            return found
    meta = {"name": entry.name, "namespace": entry.namespace, "uid": entry.uid}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
