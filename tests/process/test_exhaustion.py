"""Without file descriptors, or with nowhere to write, the real process goes on and recovers."""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.webhook import Load, Webhook, until
from tests.serving.authority import Authority

FEW = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Poor(Webhook):
    """May open few files: fewer than the least number of connections needs."""

    before = (sys.executable, "-c", FEW, "30")


class Full(Webhook):
    """Its audit lines go to a disk that is full."""

    output = "/dev/full"


@contextlib.contextmanager
def started(kind: type[Webhook], directory: Path) -> Iterator[Webhook]:
    webhook = kind(directory, Authority("process tests"))
    try:
        webhook.wait_ready()
        yield webhook
    finally:
        webhook.close()


@pytest.mark.slow
def test_a_process_without_file_descriptors_recovers_and_does_not_spin(tmp_path: Path) -> None:
    with started(Poor, tmp_path) as webhook, contextlib.ExitStack() as stack:
        until(lambda: webhook.mutate()["allowed"], "a review")
        for _ in range(300):
            peer = socket.create_connection(("127.0.0.1", webhook.port), 10, ("127.0.0.2", 0))
            stack.enter_context(peer)
        until(lambda: "accepting paused" in webhook.logged(), "exhaustion")
        before = cpu_seconds(webhook)
        time.sleep(1)
        assert cpu_seconds(webhook) - before < 0.5

        for _ in range(5):
            assert webhook.mutate()["allowed"] is True
        stack.close()
        until(lambda: webhook.metric("vestibule_connections") == 0, "closed connections")
        with Load(webhook, 2) as good:
            until(lambda: good.sent > 50, "reviews")
        assert good.failures == []
        assert webhook.metric("vestibule_accept_pauses_total") >= 1
        assert webhook.logged().count("accepting paused") <= webhook.logged().count("accepting again") + 1


def cpu_seconds(webhook: Webhook) -> float:
    times = Path(f"/proc/{webhook.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(times[11]) + int(times[12])) / 100


@pytest.mark.slow
def test_a_full_disk_under_the_audit_lines_is_counted_and_logged_once(tmp_path: Path) -> None:
    with started(Full, tmp_path) as webhook:
        assert webhook.mutate()["allowed"] is True
        until(lambda: webhook.metric("vestibule_audit_write_failures_total") >= 3, "several tries")

        assert webhook.metric("vestibule_audit_failing") == 1
        assert webhook.mutate()["allowed"] is True
        assert webhook.logged().count("audit lines cannot be written") == 1
        assert webhook.end() == 0
        assert "audit lines lost at the end" in webhook.logged()
