"""Many connections: served up to the limit, told to come back above it, forgotten when they are gone."""

from __future__ import annotations

import contextlib
import gc
import ssl

import pytest
from tests.serving.authority import Authority
from tests.serving.conftest import Serve
from tests.serving.wire import Wire, ask, until

from vestibule.adapters.serving.protocol import Connection
from vestibule.adapters.serving.reader import Reader
from vestibule.adapters.serving.server import Limits
from vestibule.adapters.serving.tls import TlsHolder


def test_connections_above_the_soft_limit_are_told_to_come_back_and_the_others_served(serve: Serve) -> None:
    live = serve(limits=Limits(connections=2))

    with Wire(live.address) as first, Wire(live.address) as second:
        assert [first.ask().status, second.ask().status] == [200, 200]
        with Wire(live.address) as third:
            answer = third.ask("POST", "/", b"x" * 10_000)

            assert (answer.status, answer.headers["retry-after"]) == (429, "1")
            assert answer.headers["connection"] == "close"
            assert third.ended()
        assert [first.ask().status, second.ask().status] == [200, 200]
        assert until(lambda: live.stats.connections == 2)
    assert until(lambda: live.stats.connections == 0)
    assert ask(live.address).status == 200


def test_connections_above_the_hard_limit_are_closed_at_accept(serve: Serve, holder: TlsHolder) -> None:
    live = serve(limits=Limits(connections=2), tls=holder)

    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(Wire(live.address)) for _ in range(4)]
        assert until(lambda: live.stats.connections == 4)
        assert stack.enter_context(Wire(live.address)).ended()

        assert (live.stats.refused, live.stats.connections) == (1, 4)
        assert live.stats.accepted == len(silent)
    assert until(lambda: live.stats.connections == 0)
    assert live.stats.handshakes_failed == 4


@pytest.mark.parametrize(("encrypted", "number"), [(False, 2400), (True, 600)], ids=["plain", "TLS"])
def test_connections_that_are_gone_leave_nothing_behind(
    serve: Serve, holder: TlsHolder, authority: Authority, encrypted: bool, number: int
) -> None:
    """Without the garbage collector: nothing may wait for it."""
    live = serve(tls=holder if encrypted else None)
    client = authority.trusting() if encrypted else None
    gc.collect()
    gc.disable()
    try:
        for turn in range(number):
            visit(live.address, client, turn)
        assert until(lambda: live.stats.connections == 0)
        left = [thing for thing in gc.get_objects() if isinstance(thing, Connection | Reader)]

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
            wire.send(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf")
        elif turn % 8 == 3:
            wire.send(b"garbage\r\n\r\n")
            assert wire.answer().status == 400
