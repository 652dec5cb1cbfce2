"""Events about pods that were missed, on the workloads that make them: few, and each only when it is news."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vestibule import errors
from vestibule.adapters.cluster import pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.evictions import Outcome
from vestibule.apps.operator.runtime.events import Events
from vestibule.core.audit.summary import Hit
from vestibule.core.doctor.census import Entry
from vestibule.core.kinds import gvk

Object = dict[str, Any]
_MOST: Final = 20
"""Workloads that are told in one audit; the condition counts all."""
_RESULTS: Final = {
    "evicted": ("EvictedForIdentity", "evicted, so that it is made anew with what it asks for"),
    "would-evict": ("WouldEvict", "would be evicted (DryRun)"),
    "blocked": ("EvictionPostponed", "not evicted yet"),
    "missed": ("ReplacementMissed", "repair has ended"),
}


async def missed(client: Client, events: Events, hits: Mapping[str, Hit], told: dict[str, str]) -> None:
    """Tell workloads that are hit, where it is news; ``told`` remembers, and forgets who is well again."""
    for name in [name for name in told if name not in hits]:
        del told[name]
    fresh = 0
    for name, hit in sorted(hits.items()):
        entry = hit.entry
        pods = "a pod" if hit.number == 1 else f"{hit.number} pods"
        note = f"{pods} of it: {entry.difference.text}; {entry.reason}; {entry.advice}"
        news = f"{pods}: {entry.cause}: {entry.difference.text}"
        if told.get(name) == news or fresh == _MOST:
            continue
        fresh += 1
        told[name] = news
        await events.tell(await _about(client, entry), "PodsMissed", note, "Audit", "Warning")


async def outcome(client: Client, events: Events, one: Outcome) -> None:
    """Tell what became of one pod."""
    if one.result not in _RESULTS:
        return
    reason, words = _RESULTS[one.result]
    note = f"Pod {one.entry.name}: {words}{f': {one.text}' if one.text else ''}"
    about = await _about(client, one.entry)
    await events.tell(about, reason, note, "Evict", "Warning" if one.result == "missed" else "Normal")


async def _about(client: Client, entry: Entry) -> Object:
    """The workload, or the pod itself where nothing makes it or it cannot be read."""
    name, _, rest = entry.owner.partition(" ")
    kind = gvk.BY_KIND.get(name)
    if kind is not None:
        try:
            found = await pages.one(client, kind, entry.namespace, rest)
        except (errors.Forbidden, errors.Unavailable):
            found = None
        if found is not None:
            return found
    meta = {"name": entry.name, "namespace": entry.namespace, "uid": entry.uid}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
