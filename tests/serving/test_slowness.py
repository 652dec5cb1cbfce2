"""Peers that are slow, on purpose or not, are cut off at the limits."""

from __future__ import annotations

import select
import socket
import time

import pytest
from tests.serving.authority import Authority
from tests.serving.conftest import Serve
from tests.serving.wire import Wire, ask, request, until

from vestibule.httpserver.server import HttpRequest, HttpResponse, ServerLimits
from vestibule.httpserver.tls import TlsHolder


def dripped_until_cut_off(wire: Wire, data: bytes) -> bool:
    """Send a byte every 20 ms until the server closes; whether it did. One thread: TLS is not shared."""
    try:
        for byte in data:
            wire.send(bytes([byte]))
            if select.select([wire.socket], [], [], 0.02)[0]:
                return wire.ended()
    except OSError:
        return True  # closed between two bytes
    return False


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize(
    ("start", "limits"),
    [
        pytest.param(b"", ServerLimits(header_seconds=0.3), id="slow headers"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n",
            ServerLimits(body_seconds=0.3),
            id="slow body",
        ),
    ],
)
def test_a_dripping_peer_is_cut_off(
    serve: Serve, holder: TlsHolder, authority: Authority, encrypted: bool, start: bytes, limits: ServerLimits
) -> None:
    live = serve(limits=limits, tls=holder if encrypted else None)

    with Wire(live.address, tls=authority.trusting() if encrypted else None) as wire:
        began = time.monotonic()
        wire.send(start)
        assert dripped_until_cut_off(wire, request(headers="A: " + "x" * 400))
        took = time.monotonic() - began

    assert 0.25 <= took < 2
    assert live.stats.slow == 1
    assert until(lambda: live.stats.connections == 0)


def test_the_time_for_a_head_starts_anew_with_each_request(serve: Serve) -> None:
    live = serve(limits=ServerLimits(header_seconds=0.6))
    raw = request()

    with Wire(live.address) as wire:
        for _ in range(4):
            wire.send(raw[:-5])
            time.sleep(0.25)  # less than the limit, but more than it in total
            wire.send(raw[-5:])

            assert wire.answer().status == 200


def test_an_idle_connection_is_closed_after_its_time_and_not_before(serve: Serve) -> None:
    live = serve(limits=ServerLimits(idle_seconds=0.5))

    with Wire(live.address) as wire:
        wire.ask()
        began = time.monotonic()
        assert wire.ended()

        assert 0.45 <= time.monotonic() - began < 2
    assert live.stats.slow == 0


def test_a_peer_that_never_starts_its_handshake_is_cut_off(serve: Serve, holder: TlsHolder) -> None:
    live = serve(limits=ServerLimits(handshake_seconds=0.3), tls=holder)

    with Wire(live.address) as wire:
        assert until(lambda: live.stats.connections == 1)
        assert wire.ended()

    assert until(lambda: live.stats.connections == 0)
    assert live.stats.handshakes_failed == 1


def test_a_peer_that_stops_in_the_middle_of_its_handshake_is_cut_off(serve: Serve, holder: TlsHolder) -> None:
    live = serve(limits=ServerLimits(handshake_seconds=0.3), tls=holder)

    with Wire(live.address) as wire:
        wire.send(b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03")  # 200 bytes announced, 6 sent
        assert wire.ended()

    assert until(lambda: live.stats.connections == 0)


def test_a_peer_that_is_silent_after_its_handshake_holds_up_nobody(
    serve: Serve, holder: TlsHolder, authority: Authority
) -> None:
    live = serve(limits=ServerLimits(idle_seconds=0.3), tls=holder)

    with Wire(live.address, tls=authority.trusting()) as wire:
        assert ask(live.address, tls=authority.trusting()).status == 200
        assert wire.ended()


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "TLS"])
def test_a_peer_that_does_not_read_its_answers_is_cut_off(
    serve: Serve, holder: TlsHolder, authority: Authority, encrypted: bool
) -> None:
    answered: list[str] = []

    def handler(request: HttpRequest) -> HttpResponse:
        answered.append(request.path)
        return HttpResponse(200, b"x" * 4_000_000)

    live = serve(handler, limits=ServerLimits(write_seconds=0.4), tls=holder if encrypted else None)

    with Wire(live.address, tls=authority.trusting() if encrypted else None) as wire:
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.send(request("GET", "/1"))
        assert until(lambda: answered)
        wire.send(b"".join(request("GET", f"/{number}") for number in range(2, 12)))

        assert until(lambda: live.stats.connections == 0)
    assert live.stats.slow == 1
    assert len(answered) <= 2  # the TLS layer notices one answer late


def test_a_peer_that_reads_slowly_but_steadily_gets_all_its_answers(serve: Serve) -> None:
    live = serve(
        lambda request: HttpResponse(200, request.path.encode() * 200_000),
        limits=ServerLimits(write_seconds=2),
    )

    with Wire(live.address) as wire:
        wire.send(b"".join(request("GET", f"/{number}") for number in range(6)))
        bodies = []
        for _ in range(6):
            time.sleep(0.05)
            bodies.append(wire.answer().body)

    assert bodies == [f"/{number}".encode() * 200_000 for number in range(6)]
