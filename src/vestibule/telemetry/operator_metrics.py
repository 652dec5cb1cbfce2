"""The metrics of the operator: looks by controller and result, queues, writes, leadership."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

_BUCKETS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0)
"""Seconds: from a reconcile without changes to one that times out."""


class OperatorMetrics(Collector):
    """Counts what the operator does."""

    def __init__(self) -> None:
        self._results: Counter[tuple[str, str]] = Counter()
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BUCKETS) + 1))
        self._sums: dict[str, float] = defaultdict(float)
        self.writes: Mapping[tuple[str, str, str], int] = {}
        """Write requests by kind, method and result, counted by the writer."""
        self.queues: dict[str, Callable[[], Mapping[str, int]]] = {}
        """For each controller, what its queue holds: ready, running, waiting."""
        self.leading: Callable[[], bool] = lambda: False
        self.conditions: dict[tuple[str, str], dict[str, bool]] = {}
        """By kind and object, the conditions that were written last."""
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        """A reconcile ended."""
        self._results[controller, result] += 1
        self._buckets[controller][bisect_left(_BUCKETS, seconds)] += 1
        self._sums[controller] += seconds

    def show(self, kind: str, name: str, conditions: Iterable[Mapping[str, Any]]) -> None:
        """The conditions of an object, in place of those that were shown before; none: it is gone."""
        held = {str(one["type"]): one["status"] == "True" for one in conditions}
        if held:
            self.conditions[kind, name] = held
        else:
            self.conditions.pop((kind, name), None)

    def collect(self) -> Iterator[Metric]:
        """Everything, as Prometheus wants it."""
        results = CounterMetricFamily(
            "vestibule_operator_reconciles", "Reconciles by result.", labels=("controller", "result")
        )
        for labels, count in list(self._results.items()):
            results.add_metric(labels, count)
        yield results
        duration = HistogramMetricFamily(
            "vestibule_operator_reconcile_seconds", "Duration of a reconcile.", labels=("controller",)
        )
        for controller, counts in list(self._buckets.items()):
            total, cumulative = 0, []
            for bound, count in zip((*map(str, _BUCKETS), "+Inf"), counts, strict=True):
                total += count
                cumulative.append((bound, float(total)))
            duration.add_metric((controller,), cumulative, self._sums[controller])
        yield duration
        queue = GaugeMetricFamily(
            "vestibule_operator_queue", "Keys that wait, by state.", labels=("controller", "state")
        )
        for controller, workqueue in self.queues.items():
            for state, number in workqueue().items():
                queue.add_metric((controller, state), number)
        yield queue
        writes = CounterMetricFamily(
            "vestibule_operator_writes", "Calls that write.", labels=("kind", "method", "result")
        )
        for written, count in list(self.writes.items()):
            writes.add_metric(written, count)
        yield writes
        held = GaugeMetricFamily(
            "vestibule_operator_condition", "1 when a condition holds.", labels=("kind", "name", "type")
        )
        for about, conditions in list(self.conditions.items()):
            for condition, holds in conditions.items():
                held.add_metric((*about, condition), holds)
        yield held
        yield GaugeMetricFamily(
            "vestibule_operator_leading", "1 when this process leads.", value=self.leading()
        )

    def include(self, collector: Collector) -> None:
        """Show another collector's metrics, too."""
        self._registry.register(collector)

    def render(self) -> bytes:
        """The exposition text."""
        return generate_latest(self._registry)
