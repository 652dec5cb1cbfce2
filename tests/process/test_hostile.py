"""Hostile callers over TLS against the real process: it stands, memory is bounded, good clients unharmed."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import hostile
from tests.process.webhook import POD, Load, Webhook, running, until
from tests.vectors import case

MIB = 1024 * 1024


def plain(webhook: Webhook) -> socket.socket:
    return socket.create_connection(("127.0.0.1", webhook.port), timeout=10)


def tls(webhook: Webhook) -> ssl.SSLSocket:
    return webhook.authority.trusting().wrap_socket(plain(webhook), server_hostname="127.0.0.1")


def head(length: str) -> bytes:
    return (
        b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        + length.encode()
        + b"\r\n\r\n"
    )


def a_body_of_a_gibibyte(webhook: Webhook) -> None:
    with tls(webhook) as peer, contextlib.suppress(OSError):
        peer.sendall(head(f"Content-Length: {1024 * MIB}"))
        for _ in range(16):
            peer.sendall(b"x" * MIB)


def endless_chunks(webhook: Webhook) -> None:
    with tls(webhook) as peer, contextlib.suppress(OSError):
        peer.sendall(head("Transfer-Encoding: chunked"))
        for _ in range(16):
            peer.sendall(b"100000\r\n" + b"x" * MIB + b"\r\n")


def headers_without_end(webhook: Webhook) -> None:
    with tls(webhook) as peer, contextlib.suppress(OSError):
        peer.sendall(b"POST /mutate HTTP/1.1\r\nHost: x\r\n")
        for number in range(64_000):
            peer.sendall(b"X-%d: y\r\n" % number)


def a_body_that_trickles(webhook: Webhook) -> None:
    with tls(webhook) as peer, contextlib.suppress(OSError):
        peer.sendall(head("Content-Length: 1000"))
        for _ in range(20):
            peer.sendall(b"x")
            time.sleep(0.05)


def half_a_handshake(webhook: Webhook) -> None:
    with (
        socket.create_connection(("127.0.0.1", webhook.port), timeout=10) as peer,
        contextlib.suppress(OSError),
    ):
        peer.sendall(bytes.fromhex("16030100c8010000c40303"))
        time.sleep(1)


def plain_http_to_the_tls_port(webhook: Webhook) -> None:
    with (
        socket.create_connection(("127.0.0.1", webhook.port), timeout=10) as peer,
        contextlib.suppress(OSError),
    ):
        peer.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        peer.recv(100)


def deep_nesting(webhook: Webhook) -> None:
    assert webhook.post(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)[0] == 400


def a_review_cut_in_half(webhook: Webhook) -> None:
    body = case.review(POD)
    with tls(webhook) as peer:
        peer.sendall(head(f"Content-Length: {len(body)}") + body[: len(body) // 2])


ATTACKS: list[Callable[[Webhook], None]] = [
    a_body_of_a_gibibyte,
    endless_chunks,
    headers_without_end,
    a_body_that_trickles,
    half_a_handshake,
    plain_http_to_the_tls_port,
    deep_nesting,
    a_review_cut_in_half,
]


@pytest.mark.slow
def test_a_crowd_of_attackers_harms_nobody(tmp_path: Path) -> None:
    with running(tmp_path) as webhook, Load(webhook, 2) as good:
        until(lambda: good.sent > 100, "a warm process")
        idle = webhook.resident()
        for _ in range(3):
            crowd = [threading.Thread(target=attack, args=(webhook,), daemon=True) for attack in ATTACKS * 3]
            for thread in crowd:
                thread.start()
            for thread in crowd:
                thread.join(60)
                assert not thread.is_alive()
        good.stop()

        assert good.failures == []
        assert webhook.process.poll() is None
        assert webhook.resident() - idle < 64 * MIB
        assert webhook.mutate()["allowed"] is True
        assert "Traceback" not in webhook.logged()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_each_attack_alone_is_answered_or_closed(tmp_path: Path, attack: Callable[[Webhook], None]) -> None:
    with running(tmp_path) as webhook:
        attack(webhook)

        assert webhook.mutate()["allowed"] is True


def test_a_body_over_the_limit_is_413_and_one_at_the_limit_is_read(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        with tls(webhook) as peer:
            peer.sendall(head(f"Content-Length: {7 * MIB + 1}"))
            assert b" 413 " in peer.recv(1000)
        assert webhook.post(b" " * (7 * MIB - 2) + b"{}")[0] == 422


@pytest.mark.slow
def test_pods_made_to_cost_much_leave_others_served_and_memory_bounded(tmp_path: Path) -> None:
    """Every hostile shape, sized to 135 KB and to 1.5 MB, beside a caller that must not notice."""
    bodies: list[bytes] = []
    for make in hostile.SHAPES.values():
        small = len(case.review(make(100)))
        each = max(1.0, (len(case.review(make(200))) - small) / 100)
        bodies += [case.review(make(int(size / each))) for size in (135_000, 1_500_000)]
    with running(tmp_path) as webhook, Load(webhook, 1) as good:
        until(lambda: good.sent > 100, "a warm process")
        slowest = 0.0
        for body in bodies:
            began = time.monotonic()
            status, answer = webhook.post(body)
            slowest = max(slowest, time.monotonic() - began)
            assert status == 200, answer[:200]
            assert len(answer) <= 2_000_000
        good.stop()

        assert good.failures == []
        assert webhook.resident() <= 110 * MIB
        assert slowest < 5, "a bound for a busy machine; make bench measures it"
