"""Many connections: a new caller is always served, the longest idle goes; the gone ones leave nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ssl
import threading
import time

import pytest
from tests.process.flood import HELLO
from tests.serving.authority import Authority
from tests.serving.conftest import Serve
from tests.serving.wire import Wire, request, until

from vestibule.httpserver.connection import Connection
from vestibule.httpserver.request_parser import RequestParser
from vestibule.httpserver.server import HttpResponse, ServerLimits
from vestibule.httpserver.tls import TlsHolder


def test_a_new_caller_is_served_in_the_place_of_the_longest_idle_one(serve: Serve) -> None:
    live = serve(limits=ServerLimits(connections=2))

    with Wire(live.address) as first, Wire(live.address) as second:
        assert first.ask().status == 200
        time.sleep(0.01)  # the loop's clock counts milliseconds
        assert second.ask().status == 200
        with Wire(live.address) as third:
            assert third.ask("POST", "/", b"x" * 10_000).status == 200
            assert first.ended()
            assert [second.ask().status, third.ask().status] == [200, 200]
    assert until(lambda: live.stats.connections == 0)
    assert (live.stats.evicted, live.stats.shed) == (1, 0)


def test_a_connection_whose_request_is_served_is_never_closed_for_another(serve: Serve) -> None:
    """The one that came last waits until there is a place."""
    gate = threading.Event()

    async def patient() -> HttpResponse:
        while not gate.is_set():  # noqa: ASYNC110 - set by another thread
            await asyncio.sleep(0.005)
        return HttpResponse(200)

    live = serve(lambda _: patient(), limits=ServerLimits(connections=2))

    with Wire(live.address) as first, Wire(live.address) as second:
        for wire in (first, second):
            wire.send(request())
        assert until(lambda: live.stats.inflight == 2)
        with Wire(live.address) as third:
            third.send(request())
            assert until(lambda: live.stats.accepted == 3)
            gate.set()

            assert [wire.answer().status for wire in (first, second, third)] == [200] * 3


def test_who_never_asked_goes_before_who_is_idle(serve: Serve) -> None:
    """An API server's connection may be idle for a minute; a stranger's that was opened later goes first."""
    live = serve(limits=ServerLimits(connections=3))

    with Wire(live.address) as used, contextlib.ExitStack() as stack:
        assert used.ask().status == 200
        for _ in range(2):
            stack.enter_context(Wire(live.address))
        assert until(lambda: live.stats.connections == 3)
        time.sleep(1.1)  # a stranger has a second to send something
        fresh = stack.enter_context(Wire(live.address))

        assert fresh.ask().status == 200
        assert used.ask().status == 200
        assert live.stats.evicted == 1


def test_a_peer_with_more_than_half_of_all_connections_gives_them_up_first(serve: Serve) -> None:
    live = serve(limits=ServerLimits(connections=8))

    with Wire(live.address, source="127.0.0.9") as other, contextlib.ExitStack() as stack:
        assert other.ask().status == 200  # idle for longer than all that follow
        crowd = [stack.enter_context(Wire(live.address, source="127.0.0.8")) for _ in range(20)]
        for wire in crowd:
            with contextlib.suppress(OSError, EOFError):
                wire.ask()

        assert other.ask().status == 200
    assert live.stats.evicted >= 12


def test_all_callers_behind_one_address_are_served(
    serve: Serve, holder: TlsHolder, authority: Authority
) -> None:
    """Behind a tunnel or a NAT all API servers are one peer."""
    live = serve(limits=ServerLimits(connections=256), tls=holder)
    client = authority.trusting()

    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(Wire(live.address, tls=client)) for _ in range(200)]
        for _ in range(3):
            for wire in wires:
                wire.send(request("POST", "/", b"review"))
            assert {wire.answer().status for wire in wires} == {200}
    assert (live.stats.evicted, live.stats.refused, live.stats.shed) == (0, 0, 0)


def test_waiting_sockets_above_the_limit_are_closed_of_the_peer_with_most(
    serve: Serve, holder: TlsHolder, authority: Authority
) -> None:
    live = serve(limits=ServerLimits(waiting=4), tls=holder)

    with contextlib.ExitStack() as stack:
        other = stack.enter_context(Wire(live.address, source="127.0.0.9"))
        assert until(lambda: live.stats.connections == 1)
        silent = [stack.enter_context(Wire(live.address, source="127.0.0.8")) for _ in range(6)]
        assert until(lambda: live.stats.accepted == 7)

        assert [wire.ended() for wire in silent[:3]] == [True] * 3
        assert live.stats.refused == 3
        client = authority.trusting()
        with client.wrap_socket(other.socket, server_hostname="localhost") as served:
            served.sendall(request())
            assert served.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.9"], ids=["same peer", "another peer"])
def test_handshakes_that_stall_do_not_hold_up_others(
    serve: Serve, holder: TlsHolder, authority: Authority, source: str
) -> None:
    live = serve(limits=ServerLimits(handshakes=4), tls=holder)
    client = authority.trusting()

    with contextlib.ExitStack() as stack:
        for _ in range(12):
            stack.enter_context(Wire(live.address)).send(HELLO)
        assert until(lambda: live.stats.connections == 12)
        for _ in range(3):
            with Wire(live.address, tls=client, source=source) as wire:
                assert wire.ask().status == 200


def test_handshakes_are_begun_at_a_bounded_rate_and_peers_take_turns(
    serve: Serve, holder: TlsHolder, authority: Authority
) -> None:
    live = serve(limits=ServerLimits(handshake_rate=20), tls=holder)
    client = authority.trusting()

    with contextlib.ExitStack() as stack:
        began = time.monotonic()
        for _ in range(20):  # a second's worth at once
            stack.enter_context(Wire(live.address)).send(HELLO)
        for _ in range(20):  # another second's worth, which has to wait
            stack.enter_context(Wire(live.address)).send(HELLO)
        with Wire(live.address, tls=client, source="127.0.0.9") as wire:
            assert wire.ask().status == 200
        assert time.monotonic() - began < 0.9  # not behind all of them


@pytest.mark.parametrize(("encrypted", "number"), [(False, 2400), (True, 600)], ids=["plain", "TLS"])
def test_connections_that_are_gone_leave_nothing_behind(
    serve: Serve, holder: TlsHolder, authority: Authority, encrypted: bool, number: int
) -> None:
    """Without the garbage collector: nothing may wait for it."""
    client = authority.trusting() if encrypted else None
    gc.collect()  # before the server runs: a collection stops its thread, and a delayed loop answers 429
    live = serve(tls=holder if encrypted else None)
    gc.disable()
    try:
        for turn in range(number):
            visit(live.address, client, turn)
        assert until(lambda: live.stats.connections == 0)
        left = [obj for obj in gc.get_objects() if isinstance(obj, Connection | RequestParser)]

        assert len(left) <= 2  # the loop may still hold the last callback
    finally:
        gc.enable()
    assert live.stats.accepted == number


def visit(address: tuple[str, int], client: ssl.SSLContext | None, turn: int) -> None:
    """Come, ask something or not, and go in one of several ways."""
    with Wire(address, tls=client) as wire:
        if turn % 4 == 0:
            assert wire.ask("POST", "/", b"x" * 1000, "Connection: close\r\n").status == 200
        elif turn % 4 == 1:
            assert wire.ask().status == 200
        elif turn % 4 == 2:
            wire.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
        elif turn % 8 == 3:
            wire.send(b"garbage\r\n\r\n")
            assert wire.answer().status == 400
