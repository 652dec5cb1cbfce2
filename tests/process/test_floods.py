"""One stranger with thousands of connections against the real process: nobody else's review fails."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.process.webhook import Load, running, until

MIB = 1024 * 1024
MOST = 110 * MIB


class Process(Protocol):
    """As much of a webhook process as a flood needs."""

    port: int

    def resident(self) -> int:
        """Bytes of memory in use."""
        ...


class Peak(threading.Thread):
    """The most memory the process has had."""

    def __init__(self, webhook: Process) -> None:
        super().__init__(daemon=True)
        self._webhook = webhook
        self._ended = threading.Event()
        self.resident = 0

    def run(self) -> None:
        while not self._ended.wait(0.02):
            self.resident = max(self.resident, self._webhook.resident())

    def stop(self) -> int:
        self._ended.set()
        self.join(5)
        return self.resident


@contextlib.contextmanager
def flood(
    webhook: Process, kind: str, number: int, source: str = "127.0.0.2", size: int = 0
) -> Iterator[None]:
    """So many connections of one peer, opened when the block begins and held until it ends."""
    command = [sys.executable, "-m", "tests.process.flood", str(webhook.port), "--kind", kind]
    command += ["--number", str(number), "--source", source, "--size", str(size)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stranger:
        try:
            assert stranger.stdout is not None
            assert stranger.stdout.readline()
            yield
        finally:
            assert stranger.stdin is not None
            stranger.stdin.close()
            stranger.wait(30)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "number", "size"),
    [
        pytest.param("tls", 2_000, 0, id="idle"),
        pytest.param("silent", 10_000, 0, id="silent before the handshake"),
        pytest.param("half", 4_000, 0, id="stopped in the handshake"),
        pytest.param("body", 400, 300_000, id="half-sent bodies"),
        pytest.param("body", 24, 6_900_000, id="long half-sent bodies"),
    ],
)
def test_no_review_of_others_fails_and_memory_is_bounded(
    tmp_path: Path, kind: str, number: int, size: int
) -> None:
    with running(tmp_path) as webhook, Load(webhook, 1) as stored, Load(webhook, 1, fresh=True) as fresh:
        until(lambda: stored.sent > 100, "a warm process")
        peak = Peak(webhook)
        peak.start()
        with flood(webhook, kind, number, size=size):
            sent = stored.sent, fresh.sent
            until(
                lambda: stored.sent > sent[0] + 100 and fresh.sent > sent[1] + 50, "reviews during the flood"
            )
        most = peak.stop()
        stored.stop()
        fresh.stop()

        assert (stored.failures, fresh.failures) == ([], [])
        assert most <= MOST
        until(lambda: webhook.metric("vestibule_connections") <= 4, "closed connections")
        assert webhook.metric("vestibule_requests_shed_total") == 0


@pytest.mark.slow
def test_memory_of_a_flood_is_given_back(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        for _ in range(20):
            webhook.mutate()
        idle = webhook.resident()
        with flood(webhook, "tls", 1_200):
            assert webhook.resident() - idle > 8 * MIB
        until(lambda: webhook.resident() - idle < 12 * MIB, "memory given back", 15)


@pytest.mark.slow
def test_floods_of_several_peers_at_once_harm_nobody(tmp_path: Path) -> None:
    with running(tmp_path) as webhook, Load(webhook, 1) as stored, Load(webhook, 1, fresh=True) as fresh:
        until(lambda: stored.sent > 100, "a warm process")
        peak = Peak(webhook)
        peak.start()
        with (
            flood(webhook, "tls", 800, "127.0.0.2"),
            flood(webhook, "half", 800, "127.0.0.3"),
            flood(webhook, "body", 100, "127.0.0.4", size=1_000_000),
            flood(webhook, "used", 200, "127.0.0.5"),
        ):
            time.sleep(1)
        most = peak.stop()
        stored.stop()
        fresh.stop()

        assert (stored.failures, fresh.failures) == ([], [])
        assert most <= MOST


def test_every_review_of_one_address_over_200_connections_is_served(tmp_path: Path) -> None:
    """Behind konnectivity or a NAT all API servers are one peer; so is the stranger who floods."""
    with running(tmp_path) as webhook, flood(webhook, "tls", 1_200, "127.0.0.1"):
        with Load(webhook, 200) as crowd:
            until(lambda: crowd.sent > 2_000, "reviews", 60)

        assert crowd.failures == []
        assert webhook.metric("vestibule_requests_shed_total") == 0
