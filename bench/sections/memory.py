"""Resident memory of a fresh process, idle and after load: 64 busy connections, then many short ones.

The short ones are there because what a closed connection leaves behind is what grows in real clusters.
"""

from __future__ import annotations

import time

from bench import figures, loads, servers
from bench.figures import Bar, Figure
from bench.processes import Unavailable
from bench.rig import Rig

NAME = "memory (VmRSS)"
BARS: dict[str, tuple[Bar | None, Bar | None]] = {
    "ours": (figures.IDLE, figures.LOADED),
    "eks": (None, None),
}
LABELS = {"ours": "ours", "eks": "EKS webhook"}
SETTLE = 0.5
"""Seconds of rest before each reading."""


def measure(rig: Rig) -> list[Figure]:
    return [figure for name in BARS for figure in _pair(rig, name)]


def _pair(rig: Rig, name: str) -> list[Figure]:
    idle_bar, loaded_bar = BARS[name]
    idle_label, loaded_label = f"{LABELS[name]}, idle", f"{LABELS[name]}, after load"
    try:
        with servers.ALL[name](rig) as target:
            time.sleep(SETTLE)
            idle = target.child.rss_mib()
            busy = rig.loader.closed(target, 64, rig.lengths.memory)
            rig.loader.churn(target, rig.lengths.churn)
            time.sleep(SETTLE)
            loaded = target.child.rss_mib()
    except (Unavailable, loads.Failed, OSError) as problem:
        return [
            figures.unmeasured(NAME, idle_label, "MiB", str(problem), idle_bar),
            figures.unmeasured(NAME, loaded_label, "MiB", str(problem), loaded_bar),
        ]
    note = f"{busy.requests:,} requests on 64 connections, {rig.lengths.churn:,} more connections"
    return [
        Figure(NAME, idle_label, idle, "MiB", idle_bar, "after its first three answers"),
        Figure(NAME, loaded_label, loaded, "MiB", loaded_bar, note),
    ]
