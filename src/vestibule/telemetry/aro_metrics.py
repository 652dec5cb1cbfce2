"""The metrics of ARO HCP clusters: how long their phases take, what is ready, what ends when.

Series that name a cluster or a key are those that matter most, and no more than a hundred of each.
"""

from __future__ import annotations

import datetime
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

MOST: Final = 100
_BUCKETS: Final = (1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0)
"""Seconds: Azure takes a quarter of an hour for a cluster."""
_PHASES: Final = {
    ("AROCluster", "ResourcesReady"): "infrastructure",
    ("AROControlPlane", "HcpClusterReady"): "cluster",
    ("AROControlPlane", "Available"): "available",
    ("AROCluster", "Ready"): "provisioned",
    ("AROMachinePool", "Ready"): "pool",
}
Object = Mapping[str, Any]


class AroMetrics(Collector):
    """What the ARO controllers saw last."""

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str], tuple[int, int]] = {}
        self._counted: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = defaultdict(float)
        self._ends: dict[str, float] = {}
        self.keys: dict[tuple[str, str], float] = {}
        """Vault and key, with the creation time of the current version."""

    def reconciled(self, key: str, before: Object, after: Object, now: datetime.datetime) -> None:
        """One object before and after a reconcile; its phases count from its creation, each once."""
        kind = str(after["kind"])
        where = (kind, key)
        listed = (after.get("status") or {}).get("resources") or ()
        self._resources[where] = (sum(bool(one.get("ready")) for one in listed), len(listed))
        held = _held(before)
        for one in _held(after) - held - self._counted[where]:
            phase = _PHASES.get((kind, one))
            if phase is not None:
                self._counted[where].add(one)
                self._took(phase, (now - _created(after, now)).total_seconds())

    def ends(self, key: str, when: datetime.datetime | None) -> None:
        """When the kubeconfig of a cluster ends."""
        if when is None:
            self._ends.pop(key, None)
        else:
            self._ends[key] = when.timestamp()

    def forget(self, kind: str, key: str) -> None:
        """There is no such object any more."""
        self._resources.pop((kind, key), None)
        self._counted.pop((kind, key), None)
        if kind == "AROControlPlane":
            self._ends.pop(key, None)

    def _took(self, phase: str, seconds: float) -> None:
        counts = self._buckets.setdefault(phase, [0] * (len(_BUCKETS) + 1))
        counts[bisect_left(_BUCKETS, seconds)] += 1
        self._sums[phase] += seconds

    def collect(self) -> Iterator[Metric]:
        """Everything, as Prometheus wants it."""
        phases = HistogramMetricFamily(
            "vestibule_aro_phase_seconds", "From the creation of an object to a phase.", labels=("phase",)
        )
        for phase, counts in list(self._buckets.items()):
            total, cumulative = 0, []
            for bound, count in zip((*map(str, _BUCKETS), "+Inf"), counts, strict=True):
                total += count
                cumulative.append((bound, float(total)))
            phases.add_metric((phase,), cumulative, self._sums[phase])
        yield phases
        resources = GaugeMetricFamily(
            "vestibule_aro_resources",
            "Embedded resources, by the kind that carries them.",
            labels=("kind", "state"),
        )
        sums: dict[str, list[int]] = {}
        for (kind, _), (ready, every) in list(self._resources.items()):
            counts = sums.setdefault(kind, [0, 0])
            counts[0] += ready
            counts[1] += every - ready
        for kind, (ready, late) in sums.items():
            resources.add_metric((kind, "ready"), ready)
            resources.add_metric((kind, "waiting"), late)
        yield resources
        ends = GaugeMetricFamily(
            "vestibule_aro_kubeconfig_end_seconds",
            "When the client certificate of a kubeconfig ends, of those that end first.",
            labels=("cluster",),
        )
        for key, moment in sorted(self._ends.items(), key=lambda one: one[1])[:MOST]:
            ends.add_metric((key,), moment)
        yield ends
        keys = GaugeMetricFamily(
            "vestibule_aro_key_created_seconds",
            "Creation time of the current version of a key, for the oldest keys.",
            labels=("vault", "key"),
        )
        for names, moment in sorted(self.keys.items(), key=lambda one: one[1])[:MOST]:
            keys.add_metric(names, moment)
        yield keys


def _held(obj: Object) -> set[str]:
    listed = (obj.get("status") or {}).get("conditions") or ()
    return {str(one["type"]) for one in listed if one.get("status") == "True"}


def _created(obj: Object, now: datetime.datetime) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(str(obj["metadata"].get("creationTimestamp")))
    except ValueError:
        return now
