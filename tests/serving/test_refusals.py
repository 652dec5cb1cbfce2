"""What a hostile or broken client gets, and that it costs us little."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import threading
from pathlib import Path

import pytest
from tests.serving.conftest import Serve
from tests.serving.wire import Wire, ask, request, until

from vestibule.httpserver.server import HttpResponse, ServerLimits

_MIB = 1024 * 1024


def resident() -> int:
    """Bytes of memory this process holds, the server in its thread included."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, id="a TLS hello on a plain port"),
        pytest.param(b"\x00" * 100, 400, id="zeroes"),
        pytest.param(b"hello\r\n\r\n", 400, id="no method"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, id="the preface of HTTP/2"),
        pytest.param(b"GET / HTTP/1.1\nHost: x\n\n", 400, id="bare line feeds"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", 400, id="a space before the colon"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400, id="a folded header"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n", 400, id="a zero byte in a header"),
        pytest.param(b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400, id="a target that is not ASCII"),
        pytest.param(b"GET nowhere HTTP/1.1\r\nHost: x\r\n\r\n", 400, id="a target without a slash"),
        pytest.param(b"CONNECT host:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400, id="a tunnel"),
        pytest.param(b"GET / HTTP/1.1\r\nA: b\r\n\r\n", 400, id="no Host"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, id="two Hosts"),
        pytest.param(
            b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            400,
            id="chunks before they were invented",
        ),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", 400, id="an unknown version"),
        pytest.param(b"GET / HTTP/2.0\r\n\r\n", 505, id="a version we do not speak"),
        pytest.param(b"GET /\r\n\r\n", 505, id="no version"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, id="a negative length"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\nx", 400, id="a length with a sign"
        ),
        pytest.param(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n", 400, id="an empty length"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\n",
            400,
            id="a length beyond numbers",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
            400,
            id="two lengths",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            id="length, then chunks",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            400,
            id="chunks, then length",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZ\r\n",
            400,
            id="a chunk without a size",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            501,
            id="packed chunks",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            501,
            id="almost chunked",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n", 417, id="an unknown expectation"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n", 413, id="a body of 1 GiB"
        ),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 101 + b"\r\n", 431, id="101 headers"),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 65_536 + b"\r\n\r\n", 431, id="a header of 64 KiB"
        ),
        pytest.param(
            b"GET /" + b"x" * 65_536 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431, id="a target of 64 KiB"
        ),
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_closed(
    serve: Serve, raw: bytes, status: int
) -> None:
    live = serve()

    with Wire(live.address) as wire:
        wire.send(raw)
        answer = wire.answer()

        assert answer.status == status
        assert answer.headers["connection"] == "close"
        assert wire.ended()
    assert until(lambda: live.stats.connections == 0)
    assert ask(live.address).status == 200


def test_a_head_without_end_is_refused_as_it_grows(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        wire.send(b"GET / HTTP/1.1\r\nHost: x\r\nA: ")
        with contextlib.suppress(OSError):
            for _ in range(64):
                wire.send(b"x" * 1024)

        assert wire.answer().status == 431


@pytest.mark.parametrize("start", [b"5;", b"0\r\nTrailer: "], ids=["chunk extension", "trailer"])
def test_chunk_framing_without_end_is_refused_as_it_grows(serve: Serve, start: bytes) -> None:
    live = serve()

    with Wire(live.address) as wire:
        wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + start)
        with contextlib.suppress(OSError):
            for _ in range(2048):
                wire.send(b"x" * 1024)
                if select.select([wire.socket], [], [], 0)[0]:
                    break

        assert wire.answer().status == 431


def test_requests_before_the_broken_one_are_answered_first(serve: Serve) -> None:
    live = serve()

    with Wire(live.address) as wire:
        wire.send(request("GET", "/1") + request("GET", "/2") + b"garbage\r\n\r\n")

        assert [wire.answer().status for _ in range(3)] == [200, 200, 400]
        assert wire.ended()


def test_a_smuggled_request_behind_two_framings_is_not_served(serve: Serve) -> None:
    live = serve()
    smuggled = request("GET", "/smuggled")
    framing = f"Content-Length: {len(smuggled)}\r\nTransfer-Encoding: chunked"

    with Wire(live.address) as wire:
        wire.send(f"POST / HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n0\r\n\r\n".encode() + smuggled)

        assert wire.answer().status == 400
        assert wire.ended()
    assert live.stats.requests == 0


@pytest.mark.parametrize(
    "raw",
    [
        b"G",
        b"GET / HTTP/1.1\r\nHost: x",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
        b"\r\n",
    ],
    ids=["first byte", "half a head", "half a body", "nothing but a line end"],
)
def test_a_truncated_request_ends_quietly(serve: Serve, raw: bytes) -> None:
    live = serve()

    with Wire(live.address) as wire:
        wire.send(raw)
    assert until(lambda: live.stats.connections == 0)

    assert live.stats.requests == 0
    assert live.stats.buffered == 0
    assert ask(live.address).status == 200


def test_a_declared_length_above_the_limit_is_refused_before_the_body_is_read(serve: Serve) -> None:
    live = serve(limits=ServerLimits(body=10))

    with Wire(live.address) as wire:
        assert wire.ask("POST", "/", b"x" * 10).status == 200
        wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n")

        assert wire.answer().status == 413
        assert wire.ended()


def test_chunks_above_the_limit_are_refused(serve: Serve) -> None:
    live = serve(limits=ServerLimits(body=10))

    with Wire(live.address) as wire:
        wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n")
        wire.send(b"1\r\nx\r\n")

        assert wire.answer().status == 413
        assert wire.ended()


def test_endless_chunks_are_refused_and_memory_stays(serve: Serve) -> None:
    live = serve()
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    before = resident()

    for _ in range(5):
        with Wire(live.address) as wire:
            wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            sent = 0
            while not select.select([wire.socket], [], [], 0)[0] and sent < 100 * _MIB:
                wire.send(chunk)
                sent += len(chunk)
            assert wire.answer().status == 413

    assert resident() - before < 24 * _MIB
    assert until(lambda: live.stats.connections == 0)
    assert live.stats.buffered == 0


def test_tiny_chunks_do_not_cost_more_than_their_bytes(serve: Serve) -> None:
    """Kept as a list of parts, a million of them would take 50 MiB."""
    live = serve()
    chunks = b"2\r\nab\r\n" * 10_000
    before = resident()

    with Wire(live.address) as wire:
        wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(100):
            wire.send(chunks)

        assert until(lambda: live.stats.buffered > 1_900_000)
        assert resident() - before < 16 * _MIB
        wire.send(b"0\r\n\r\n")
        assert len(wire.answer().body) == 2_000_000 + len("POST /   ")


def test_half_read_bodies_of_all_connections_together_are_bounded(serve: Serve) -> None:
    """The one that has made us wait longest goes, not the one that has come last."""
    live = serve(limits=ServerLimits(buffered=1_000_000))
    half = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + b"x" * 600_000

    with Wire(live.address) as first, Wire(live.address) as second:
        first.send(half)
        assert until(lambda: live.stats.buffered == 600_000)
        second.send(half)

        assert first.ended()
        second.send(b"x" * 300_000)
        assert second.answer().status == 200
    assert (live.stats.buffered, live.stats.evicted) == (0, 1)


def test_a_peer_that_has_asked_before_is_reported_to_come_back_when_its_half_read_body_is_dropped(
    serve: Serve,
) -> None:
    live = serve(limits=ServerLimits(buffered=1_000_000))
    half = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + b"x" * 600_000

    with Wire(live.address) as first, Wire(live.address) as second:
        assert first.ask().status == 200
        first.send(half)
        assert until(lambda: live.stats.buffered == 600_000)
        second.send(half)
        answer = first.answer()

        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        second.send(b"x" * 300_000)
        assert second.answer().status == 200


def test_half_read_bodies_do_not_shed_a_complete_request(serve: Serve) -> None:
    live = serve(limits=ServerLimits(buffered=1_000_000))
    half = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + b"x" * 300_000

    with contextlib.ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(Wire(live.address, source="127.0.0.8")).send(half)
            assert ask(live.address, "POST", "/", b"x" * 400_000).status == 200
    assert live.stats.shed == 0


def test_answers_that_are_not_taken_are_bounded(serve: Serve) -> None:
    live = serve(lambda _: HttpResponse(200, b"x" * 8_000_000), limits=ServerLimits(buffered=16_000_000))

    with contextlib.ExitStack() as stack:
        for _ in range(8):
            wire = stack.enter_context(Wire(live.address))
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.send(request())
        assert until(lambda: live.stats.evicted >= 3)
        assert live.stats.buffered <= 16_000_000


def test_requests_that_wait_for_their_handler_are_bounded_in_bytes(serve: Serve) -> None:
    gate = threading.Event()

    async def patient() -> HttpResponse:
        while not gate.is_set():  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.005)
        return HttpResponse(200)

    live = serve(lambda _: patient(), limits=ServerLimits(inflight_bytes=1_000_000))

    with Wire(live.address) as first, Wire(live.address) as second, Wire(live.address) as third:
        first.send(request("POST", "/", b"x" * 900_000))
        assert until(lambda: live.stats.inflight == 1)
        second.send(request("POST", "/", b"x" * 200_000))
        assert second.answer().status == 429
        third.send(request("POST", "/", b"x" * 90_000))
        assert until(lambda: live.stats.inflight == 2)
        gate.set()
        assert [first.answer().status, third.answer().status] == [200, 200]
    assert live.stats.inflight_bytes == 0
