"""Cold start: from the start of the process until /readyz answers 200, on an empty cluster directory.

One start before the measured ones compiles bytecode and fills the page cache, as an image has it.
"""

from __future__ import annotations

import statistics
import time

from bench import cores, figures, processes, subject
from bench.figures import Figure
from bench.processes import Unavailable
from bench.rig import Rig

NAME = "cold start"
LABEL = "process start to ready"
PAUSE = 0.001
"""Seconds between two looks: a hundredth of what is measured."""


def measure(rig: Rig) -> list[Figure]:
    try:
        with cores.pinned(rig.split.loader):
            _once(rig)
            found = [_once(rig) for _ in range(rig.lengths.starts)]
    except Unavailable as problem:
        return [figures.unmeasured(NAME, LABEL, "ms", str(problem), figures.START)]
    note = f"median of {len(found)}, {min(found):.0f} to {max(found):.0f}"
    return [Figure(NAME, LABEL, statistics.median(found), "ms", figures.START, note)]


def _once(rig: Rig) -> float:
    port, metrics = processes.free_port(), processes.free_port()
    command = subject.webhook_command(port, metrics, rig.empty_dir, rig.pair.cert, rig.pair.key)
    url = subject.ready_url(port, metrics)
    began = time.perf_counter()
    with processes.running(
        command, rig.scratch / "start.log", rig.split.server, subject.webhook_environment()
    ) as child:
        processes.wait_until(child, lambda: processes.answers_200(url, rig.trust), 15.0, PAUSE)
        return (time.perf_counter() - began) * 1_000
