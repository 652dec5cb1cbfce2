"""What an operator costs while it keeps what it made: read off its metrics and its process."""

from __future__ import annotations

import time

from tests.rig.controlplane import ControlPlane

from bench import processes, samples
from bench.processes import Child

SETTLE = 8.0
"""Seconds until what was told last has been looked at."""


def steady(operator: Child, metrics: int, seconds: float) -> tuple[float, float, float]:
    """Per cent of a core, writes and looks in so many seconds."""
    time.sleep(SETTLE)
    text, used, began = read(metrics), processes.cpu_seconds(operator.process.pid), time.perf_counter()
    time.sleep(seconds)
    spent = processes.cpu_seconds(operator.process.pid) - used
    passed, after = time.perf_counter() - began, read(metrics)
    changed = [
        samples.total(after, name) - samples.total(text, name)
        for name in ("vestibule_operator_writes_total", "vestibule_operator_reconciles_total")
    ]
    return 100 * spent / passed, changed[0], changed[1]


def available(metrics: int, kind: str) -> float:
    """Objects of a kind that are Available; 0 while nobody answers."""
    try:
        text = read(metrics)
    except OSError:
        return 0.0
    return samples.total(
        text,
        "vestibule_operator_condition",
        lambda labels: (labels.get("kind"), labels.get("type")) == (kind, "Available"),
    )


def read(port: int) -> str:
    """All metrics of an operator."""
    return processes.exchange(f"127.0.0.1:{port}", "GET", "/metrics", None, None)[1].decode()


def calls(plane: ControlPlane) -> float:
    """Calls that an API server has answered, whoever made them."""
    return samples.total(plane.admin.get("/metrics").body.decode(), "apiserver_request_total")
