"""What one tenant can make a review cost: the shapes of `tests/hostile.py`, decided in this process.

Time is told per megabyte of the review, where reviews below 100 KB count as 100 KB: the caps of `podLimits`
allow every pod a few milliseconds, however short its text. Each shape is timed several times and the best
counts; the worst shape is the figure.
"""

from __future__ import annotations

import time

from tests import hostile
from tests.vectors import case

from bench import cores, figures
from bench.figures import Figure, Row
from bench.rig import Rig
from vestibule.api.settings import schema

NAME = "hostile pods"
SIZES = (200, 1_000, 5_000)
SMALLEST = 100_000
ROUNDS = 3


def measure(rig: Rig) -> list[Figure]:
    slowest = (0.0, "")
    largest = (0.0, "")
    with cores.pinned(rig.split.server):
        for settings, given in hostile.SETTINGS.items():
            expected = schema.parse(given, "bench")
            for shape, make in hostile.SHAPES.items():
                for size in SIZES:
                    body = case.review(make(size))
                    took, answered = _best(expected, body)
                    what = f"{shape} x {size:,}, {settings}, {len(body) / 1e3:.0f} KB in {took * 1e3:.1f} ms"
                    slowest = max(slowest, (took * 1e3 / (max(len(body), SMALLEST) / 1e6), what))
                    largest = max(largest, (answered / 1e6, what))
    rows: list[Row] = [
        ("slowest shape", "ms/MB", figures.HOSTILE_TIME),
        ("largest answer", "MB", figures.HOSTILE_ANSWER),
    ]
    return figures.filled(NAME, rows, [slowest, largest])


def _best(wanted: schema.Settings, body: bytes) -> tuple[float, int]:
    """Seconds of the fastest of some fresh handlers, and bytes of the answer."""
    times = []
    for _ in range(ROUNDS):
        handler, _ = case.handler_of(case.cluster_of([*hostile.OBJECTS]), wanted)
        began = time.perf_counter()
        response = case.post(handler, body)
        times.append(time.perf_counter() - began)
    return min(times), len(response.body)
