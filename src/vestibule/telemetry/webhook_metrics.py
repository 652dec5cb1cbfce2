"""Every metric, defined once. The hot path counts in plain numbers; Prometheus' types are made when
Prometheus scrapes.

That way a request pays well under a microsecond, and a scrape, which is rare, pays for the names.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from vestibule.admission.verdict import Verdict

_BUCKETS: Final = (
    0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0,
    2.5, 5.0,
)  # fmt: skip
"""Seconds. The useful range starts at tens of microseconds and ends at the API server's patience."""


class ServerMetrics(Protocol):
    """What the server counts by itself."""

    connections: int
    accepted: int
    inflight: int
    shed: int
    handshakes_failed: int
    refused: int
    evicted: int
    buffered: int
    paused: int


class WebhookMetrics(Collector):
    """Counts what the admission process does."""

    def __init__(self) -> None:
        self._verdicts: dict[tuple[str, str], int] = defaultdict(int)
        self._injections: dict[str, int] = defaultdict(int)
        self._findings: dict[str, int] = defaultdict(int)
        self._bad: dict[int, int] = defaultdict(int)
        self._buckets = [0] * (len(_BUCKETS) + 1)
        self._sum = 0.0
        self.lookups: Mapping[tuple[str, str], int] = {}
        """Live reads by kind and result (found, absent, forbidden, failed), counted by the reader."""
        self.settings_failures = 0
        self.gauges: dict[tuple[str, str], Callable[[], float]] = {}
        """Name and help of a gauge, and where its value comes from."""
        self.counters: dict[tuple[str, str], Callable[[], float]] = {}
        """The same for counters of other components."""
        self._caches: Callable[[], Mapping[str, float]] = dict
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def verdict(self, verdict: Verdict, seconds: float) -> None:
        """Count one verdict."""
        self._verdicts[verdict.outcome, verdict.reason] += 1
        self._buckets[bisect_left(_BUCKETS, seconds)] += 1
        self._sum += seconds
        if verdict.outcome == "inject":
            for provider in verdict.providers:
                self._injections[provider] += 1
        for finding in verdict.findings:
            self._findings[finding.severity] += 1

    def malformed(self, status: int) -> None:
        """Count one body that was no review."""
        self._bad[status] += 1

    def watch_server(self, statistics: ServerMetrics) -> None:
        """Show what the server counts."""
        self.gauges["vestibule_connections", "Open connections."] = lambda: statistics.connections
        self.gauges["vestibule_inflight_requests", "Requests that wait for a lookup."] = lambda: (
            statistics.inflight
        )
        self.counters["vestibule_connections_accepted", "Connections accepted."] = lambda: statistics.accepted
        self.gauges[
            "vestibule_buffered_bytes", "Bytes held for partially read requests and unsent responses."
        ] = lambda: statistics.buffered
        self.counters["vestibule_connections_refused", "Connections closed before their handshake."] = (
            lambda: statistics.refused
        )
        self.counters[
            "vestibule_connections_evicted", "Idle or slow connections closed in favour of others."
        ] = lambda: statistics.evicted
        self.counters["vestibule_accept_pauses", "Times accepting was paused: no file descriptors."] = (
            lambda: statistics.paused
        )
        self.counters["vestibule_requests_shed", "Requests answered 429."] = lambda: statistics.shed
        self.counters["vestibule_handshakes_failed", "TLS handshakes that failed."] = lambda: (
            statistics.handshakes_failed
        )

    def watch_caches(self, statistics: Callable[[], Mapping[str, float]]) -> None:
        """Show what the caches hold: objects, seconds without word from the API server, lists."""
        self._caches = statistics

    def collect(self) -> Iterator[Metric]:
        """Everything, as Prometheus wants it."""
        requests = CounterMetricFamily(
            "vestibule_admission_requests",
            "Reviews answered, by outcome and reason.",
            labels=("outcome", "reason"),
        )
        for (outcome, reason), count in list(self._verdicts.items()):
            requests.add_metric((outcome, reason), count)
        yield requests
        yield _labelled("vestibule_injections", "Pods that got an identity.", "provider", self._injections)
        yield _labelled(
            "vestibule_findings", "Warnings and refusals returned to users.", "severity", self._findings
        )
        yield _labelled("vestibule_bad_requests", "Bodies that were no review.", "code", self._bad)
        duration = HistogramMetricFamily(
            "vestibule_admission_duration_seconds", "Seconds from decoded request to encoded response."
        )
        total = 0
        cumulative: list[tuple[str, float]] = []
        for bound, count in zip((*map(str, _BUCKETS), "+Inf"), self._buckets, strict=True):
            total += count
            cumulative.append((bound, total))
        duration.add_metric((), cumulative, self._sum)
        yield duration
        lookups = CounterMetricFamily(
            "vestibule_lookups",
            "Live reads after a cache miss, by kind and result.",
            labels=("kind", "result"),
        )
        for (kind, result), count in list(self.lookups.items()):
            lookups.add_metric((kind, result), count)
        yield lookups
        yield CounterMetricFamily(
            "vestibule_settings_failures",
            "Settings files that were not taken up.",
            value=self.settings_failures,
        )
        yield from self._cache_families()
        for (name, about), value in self.gauges.items():
            yield GaugeMetricFamily(name, about, value=value())
        for (name, about), value in self.counters.items():
            yield CounterMetricFamily(name, about, value=value())

    def _cache_families(self) -> Iterator[Metric]:
        shown = self._caches()
        for metric, stem, about in (
            ("vestibule_cache_cached", "cached", "Objects in the cache."),
            (
                "vestibule_cache_lost_seconds",
                "lost_seconds",
                "Seconds since the last response or event from the API server.",
            ),
            ("vestibule_cache_lists", "lists", "Whole lists read since the start."),
        ):
            family = GaugeMetricFamily(metric, about, labels=("resource",))
            for name, value in shown.items():
                if name.startswith(f"{stem}_"):
                    family.add_metric((name.removeprefix(f"{stem}_"),), value)
            yield family

    def render(self) -> bytes:
        """The exposition text."""
        return generate_latest(self._registry)


def _labelled(
    name: str, about: str, label: str, counts: dict[str, int] | dict[int, int]
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, about, labels=(label,))
    for value, count in list(counts.items()):
        family.add_metric((str(value),), count)
    return family
