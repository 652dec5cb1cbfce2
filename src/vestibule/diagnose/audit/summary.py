"""The summary of one audit: counts, affected workloads, and pods that can be repaired.

Its size is bounded for any number of pods: counts by state and cause, the first workloads and the first
pods. The rest is counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from vestibule.api.conditions import Condition, no, yes
from vestibule.checks.pod_report import Cause, PodCounts, PodEntry
from vestibule.checks.running_pods import State

SERVED: Final = "PodsServed"
_WORKLOADS: Final = 1000
_CANDIDATES: Final = 1000
_SHOWN: Final = 5
"""Workloads that a condition names."""


class AffectedWorkload(NamedTuple):
    """A workload with pods that lack the requested identity."""

    entry: PodEntry
    """The first of them."""
    number: int = 1

    @property
    def name(self) -> str:
        """Kind, namespace and name."""
        one = self.entry
        kind, _, name = one.owner.partition(" ")
        return f"{kind} {one.namespace}/{name}" if kind else f"Pod {one.namespace}/{one.name}"

    def __str__(self) -> str:
        return f"{self.name} ({self.number})" if self.number > 1 else self.name


class AuditSummary:
    """``add`` is called for every drifted pod of a scan."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[State, Cause]] = Counter()
        self.hits: dict[str, AffectedWorkload] = {}
        self.candidates: list[PodEntry] = []
        self.missed = self.stale = 0

    def add(self, entry: PodEntry) -> None:
        self.counts[entry.drift.state, entry.cause] += 1
        self.stale += entry.drift.state == "stale"
        if not entry.missed:
            return
        self.missed += 1
        name = AffectedWorkload(entry).name
        known = self.hits.get(name)
        if known is not None:
            self.hits[name] = known._replace(number=known.number + 1)
        elif len(self.hits) < _WORKLOADS:
            self.hits[name] = AffectedWorkload(entry)
        if len(self.candidates) < _CANDIDATES:
            self.candidates.append(entry)

    def condition(self, tally: PodCounts) -> Condition:
        """Whether every pod has the identity that it requests."""
        undecided = f"{len(tally.unread)} pods could not be decided" if tally.unread else ""
        if not self.missed:
            return yes(SERVED, "AsExpected", undecided)
        pods = f"{self.missed} pod{'s' * (self.missed != 1)} of {_many(len(self.hits))}"
        shown = [str(hit) for _, hit in sorted(self.hits.items())[:_SHOWN]]
        more = f" and {len(self.hits) - _SHOWN} more" if len(self.hits) > _SHOWN else ""
        text = (
            f"{pods} lack the requested identity: {', '.join(shown)}{more}; vestibule audit lists "
            "them and why"
        )
        return no(SERVED, "PodsMissed", "; ".join(filter(None, (text, undecided))))


def _many(count: int) -> str:
    return "one workload" if count == 1 else f"{count} workloads"
