"""The metrics of the operator's auditor and issuer: pods that were missed, evictions, how old things are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class AuditMetrics(Collector):
    """What audits found, by installation, state and cause: as many series as there are causes."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._found: dict[str, Mapping[tuple[str, str], int]] = {}
        self._seen: dict[str, int] = {}
        self._at: dict[str, float] = {}
        self._evictions: Counter[tuple[str, str]] = Counter()

    def audited(self, name: str, seen: int, found: Mapping[tuple[str, str], int]) -> None:
        """An audit ended: the number of scanned pods, and of drifted ones by state and cause."""
        self._found[name], self._seen[name], self._at[name] = dict(found), seen, self._clock()

    def evicted(self, name: str, result: str) -> None:
        """What became of one pod."""
        self._evictions[name, result] += 1

    def forget(self, name: str) -> None:
        """There is no such installation any more."""
        for known in (self._found, self._seen, self._at):
            known.pop(name, None)

    def collect(self) -> Iterator[Metric]:
        """Everything, as Prometheus wants it."""
        found = GaugeMetricFamily(
            "vestibule_audit_pods",
            "Pods that are not as they should be.",
            labels=("webhook", "state", "cause"),
        )
        for name, counts in list(self._found.items()):
            for (state, cause), count in counts.items():
                found.add_metric((name, state, cause), count)
        yield found
        seen = GaugeMetricFamily(
            "vestibule_audit_pods_seen", "Pods scanned by the last audit.", labels=("webhook",)
        )
        for name, count in list(self._seen.items()):
            seen.add_metric((name,), count)
        yield seen
        age = GaugeMetricFamily(
            "vestibule_audit_age_seconds", "Since the last audit ended.", labels=("webhook",)
        )
        for name, at in list(self._at.items()):
            age.add_metric((name,), max(0.0, self._clock() - at))
        yield age
        evictions = CounterMetricFamily(
            "vestibule_audit_evictions", "Evictions by result.", labels=("webhook", "result")
        )
        for labels, count in list(self._evictions.items()):
            evictions.add_metric(labels, count)
        yield evictions


class IssuerMetrics(Collector):
    """How long ago each issuer was last seen to be published as it should be."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._at: dict[str, float] = {}
        self._keys: dict[str, int] = {}

    def published(self, name: str, keys: int) -> None:
        """All is as it should be, with so many keys."""
        self._at[name], self._keys[name] = self._clock(), keys

    def forget(self, name: str) -> None:
        """There is no such object any more."""
        self._at.pop(name, None)
        self._keys.pop(name, None)

    def collect(self) -> Iterator[Metric]:
        """Everything, as Prometheus wants it."""
        age = GaugeMetricFamily(
            "vestibule_issuer_age_seconds",
            "Since the issuer was last seen to be published as it should be.",
            labels=("name",),
        )
        keys = GaugeMetricFamily("vestibule_issuer_keys", "Keys that are published.", labels=("name",))
        for name, at in list(self._at.items()):
            age.add_metric((name,), max(0.0, self._clock() - at))
            keys.add_metric((name,), self._keys[name])
        yield age
        yield keys
