"""Latency at a steady 1,000 requests/s, open loop: a request's time counts from the moment it was due.

Twice: evenly spaced, and in bursts of 10 as when a ReplicaSet scales up; the bars hold for both.
"""

from __future__ import annotations

import statistics

from bench import figures, loads, servers
from bench.figures import Figure
from bench.processes import Unavailable
from bench.rig import Rig

NAME = "steady 1,000 requests/s"
RATE = 1_000.0
PATTERNS = {"evenly": 1, "bursts of 10": 10}


def measure(rig: Rig) -> list[Figure]:
    found: list[Figure] = []
    try:
        with servers.ours(rig) as target:
            rounds: dict[str, list[loads.Load]] = {name: [] for name in PATTERNS}
            for _ in range(rig.lengths.steady_rounds):
                for name, burst in PATTERNS.items():
                    rounds[name].append(rig.loader.steady(target, RATE, burst, rig.lengths.steady))
            for name, runs in rounds.items():
                found += _figures(name, runs)
    except (Unavailable, loads.Failed, OSError) as problem:
        why = str(problem)
        return [
            figures.unmeasured(NAME, f"{quantile}, {name}", "ms", why, bar)
            for name in PATTERNS
            for quantile, bar in (("p50", figures.STEADY_P50), ("p99", figures.STEADY_P99))
        ]
    return found


def _figures(name: str, runs: list[loads.Load]) -> list[Figure]:
    errors = sum(load.errors for load in runs)
    reached = statistics.median(load.per_second for load in runs)
    busy = statistics.median(load.server_cpu for load in runs)
    note = f"{reached:,.0f}/s answered, core {busy:.0%}" + (f", {errors} ERRORS" if errors else "")
    p50 = statistics.median(load.p50 for load in runs)
    p99 = statistics.median(load.p99 for load in runs)
    detail = {"errors": float(errors), "reached": reached}
    return [
        Figure(NAME, f"p50, {name}", p50, "ms", figures.STEADY_P50, note, detail),
        Figure(NAME, f"p99, {name}", p99, "ms", figures.STEADY_P99, note, detail),
    ]
