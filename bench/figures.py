"""Figures of the result table and the bars they must reach.

The bars are the ones the project promised; a figure that has a bar and could not be measured counts as
missed, so that a broken bench never looks like a fast webhook.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["pass", "miss", "not measured", ""]


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit; `least` says that it is a lower one."""

    limit: float
    least: bool = False

    def met(self, value: float) -> bool:
        return value >= self.limit if self.least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.limit:g}"


HANDLER = Bar(35.0)
"""µs: decode, decide, encode of a review that is mutated."""
HANDLER_NOTHING = Bar(15.0)
"""µs: the same for a pod that asks for nothing."""
OF_EMPTY = Bar(0.35, least=True)
"""Requests/s at 16 connections ÷ the same engine with an empty handler."""
OF_EKS = Bar(6.0, least=True)
"""Requests/s at 16 connections ÷ the EKS webhook."""
STEADY_P50, STEADY_P99 = Bar(0.8), Bar(5.0)
"""ms at a steady 1,000 requests/s."""
SANDBOX_P99 = Bar(5.0)
"""ms at a steady 1,000 requests/s, all mutated by sandbox rules and no two alike."""
IDLE, LOADED = Bar(45.0), Bar(60.0)
"""MiB of resident memory, idle and after load."""
START = Bar(400.0)
"""ms from the start of the process until it is ready."""
HOSTILE_TIME, HOSTILE_ANSWER = Bar(100.0), Bar(2.0)
"""ms for a megabyte of the costliest review that a tenant can write, and MB of the longest answer."""
NO_ERRORS = Bar(0.0)
FLEET_SMALL, FLEET_LARGE = Bar(75.0), Bar(140.0)
"""MiB of resident memory with 10,000 and with 100,000 ServiceAccounts."""
SYNC = Bar(15.0)
"""s from the start of the process until it knows 100,000 ServiceAccounts."""
SYNC_SLOWEST = Bar(50.0)
"""ms: the slowest admission while they arrive."""
ADDED = Bar(1.5)
"""ms that the webhook adds to the median creation of a pod through the API server."""
NO_CALLS = Bar(0.0)
"""Calls for pods that no rule can concern."""
NO_WRITES = Bar(0.0)
"""Writes of an operator for which all is as wanted."""
ARO_AVAILABLE = Bar(5.0)
"""s from the manifests of an ARO HCP cluster to Available, where Azure answers at once."""
WEBHOOK_P99 = Bar(25.0)
"""ms that the API server spends on the webhook at 200 creations a second."""


@dataclass(frozen=True, slots=True)
class Figure:
    section: str
    name: str
    value: float | None
    """None when it could not be measured; the note says why."""
    unit: str
    bar: Bar | None = None
    note: str = ""
    detail: dict[str, float] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        if self.value is None:
            return "not measured"
        if self.bar is None:
            return ""
        return "pass" if self.bar.met(self.value) else "miss"

    @property
    def missed(self) -> bool:
        return self.bar is not None and self.verdict != "pass"


def unmeasured(section: str, name: str, unit: str, why: str, bar: Bar | None = None) -> Figure:
    return Figure(section, name, None, unit, bar, why)


Row = tuple[str, str, Bar | None]
"""Name, unit and bar of a figure that a section is going to measure."""


def filled(section: str, rows: Sequence[Row], found: Sequence[tuple[float, str]]) -> list[Figure]:
    """The figures of a section from their values and notes, in the same order."""
    return [
        Figure(section, name, value, unit, bar, note)
        for (name, unit, bar), (value, note) in zip(rows, found, strict=True)
    ]


def unfilled(section: str, rows: Sequence[Row], why: str) -> list[Figure]:
    """The same when nothing could be measured."""
    return [unmeasured(section, name, unit, why, bar) for name, unit, bar in rows]
