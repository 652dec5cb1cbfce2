"""Requests/s and latency over TLS on one core: ours, the same engine with an empty handler, the EKS webhook.

All servers that can be had run at once and take turns in every round, so that noise hits all alike; a
ratio is taken inside a round and the median over the rounds is told.
"""

from __future__ import annotations

import statistics
from contextlib import ExitStack

from bench import figures, loads, servers
from bench.figures import Bar, Figure
from bench.loads import Load, Target
from bench.processes import Unavailable
from bench.rig import Rig

NAME = "server over TLS, one core"
CONNECTIONS = (1, 16, 64)
BARRED = 16
LABELS = {"ours": "ours", "empty": "empty handler", "eks": "EKS webhook"}
RATIOS: tuple[tuple[str, Bar], ...] = (("empty", figures.OF_EMPTY), ("eks", figures.OF_EKS))

Runs = dict[tuple[str, int], list[Load]]


def measure(rig: Rig) -> list[Figure]:
    why: dict[str, str] = {}
    runs: Runs = {}
    with ExitStack() as stack:
        targets: dict[str, Target] = {}
        for name, start in servers.ALL.items():
            try:
                targets[name] = stack.enter_context(start(rig))
            except Unavailable as problem:
                why[name] = str(problem)
        for count in range(rig.lengths.rounds):
            for connections in CONNECTIONS:
                if connections != BARRED and count >= rig.lengths.side_rounds:
                    continue
                for name, target in targets.items():
                    if name in why:
                        continue
                    try:
                        load = rig.loader.closed(target, connections, rig.lengths.seconds)
                    except (loads.Failed, OSError) as problem:
                        why[name] = str(problem)
                        continue
                    runs.setdefault((name, connections), []).append(load)
    rows = [_row(runs, why, name, count) for name in LABELS for count in CONNECTIONS]
    ratios = [_ratio(runs, why, name, bar) for name, bar in RATIOS]
    return [*rows, *ratios, _failures(runs, why)]


def _row(runs: Runs, why: dict[str, str], name: str, connections: int) -> Figure:
    label = f"{LABELS[name]}, {connections} connection{'s' if connections > 1 else ''}"
    found = runs.get((name, connections))
    if not found:
        return figures.unmeasured(NAME, label, "req/s", why.get(name, "no run"))
    middle = {
        "p50": statistics.median(load.p50 for load in found),
        "p99": statistics.median(load.p99 for load in found),
        "errors": float(sum(load.errors for load in found)),
        "server_cpu": statistics.median(load.server_cpu for load in found),
    }
    rate = statistics.median(load.per_second for load in found)
    note = f"p50 {middle['p50']:.2f} p99 {middle['p99']:.2f} ms, core {middle['server_cpu']:.0%}"
    if middle["errors"]:
        note += f", {middle['errors']:.0f} ERRORS"
    if connections > 1 and middle["server_cpu"] < loads.BUSY:
        note += " (not the limit: loader or other work was)"
    return Figure(NAME, label, rate, "req/s", None, note, middle)


def _ratio(runs: Runs, why: dict[str, str], name: str, bar: Bar) -> Figure:
    label = f"ours ÷ {LABELS[name]}, {BARRED} connections"
    ours, theirs = runs.get(("ours", BARRED), []), runs.get((name, BARRED), [])
    if not ours or not theirs:
        missing = "ours" if not ours else name
        return figures.unmeasured(
            NAME, label, "times", f"{LABELS[missing]}: {why.get(missing, 'no run')}", bar
        )
    found = [mine.per_second / other.per_second for mine, other in zip(ours, theirs, strict=False)]
    note = "rounds " + ", ".join(f"{ratio:.2f}" for ratio in found)
    # loaders of different cost meet the same server; processor time per request does not depend on them
    cost = [_cost(other) / _cost(mine) for mine, other in zip(ours, theirs, strict=False) if _cost(mine)]
    if cost:
        note += f"; by CPU time per request {statistics.median(cost):.2f}"
    return Figure(NAME, label, statistics.median(found), "times", bar, note)


def _cost(load: Load) -> float:
    return load.server_cpu / load.per_second


def _failures(runs: Runs, why: dict[str, str]) -> Figure:
    label = "ours, failed requests"
    mine = [load for (name, _), found in runs.items() if name == "ours" for load in found]
    if not mine:
        return figures.unmeasured(NAME, label, "", why.get("ours", "no run"), figures.NO_ERRORS)
    total = sum(load.requests for load in mine)
    errors = float(sum(load.errors for load in mine))
    return Figure(NAME, label, errors, "", figures.NO_ERRORS, f"of {total:,}")
