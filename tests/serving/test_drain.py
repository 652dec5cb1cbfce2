"""The way out loses no request and is over in time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time

import pytest
from tests.serving.authority import Authority
from tests.serving.conftest import Serve
from tests.serving.live import Live
from tests.serving.test_handlers import Gate
from tests.serving.wire import Wire, ask, request, until

from vestibule.httpserver.server import HttpRequest, HttpResponse, ServerLimits
from vestibule.httpserver.tls import TlsHolder


class Polite(threading.Thread):
    """Asks until nobody listens or it hears that we are gone; leaves a connection when an answer says so."""

    def __init__(self, live: Live, authority: Authority | None) -> None:
        super().__init__(daemon=True)
        self._live = live
        self._tls = authority.trusting() if authority else None
        self.forgotten = threading.Event()
        self.answered = 0
        self.told_to_close = 0
        self.failure: BaseException | None = None
        self.start()

    def run(self) -> None:
        while not self.forgotten.is_set():
            try:
                wire = Wire(self._live.address, tls=self._tls)
            except OSError:
                return  # nobody listens: no request was sent
            with wire:
                try:
                    self._visit(wire)
                except (OSError, EOFError, AssertionError) as error:
                    self.failure = error
                    return

    def _visit(self, wire: Wire) -> None:
        while True:
            answer = wire.ask("POST", "/mutate?timeout=10s", b"x" * 3000)
            assert answer.status == 200
            self.answered += 1
            if answer.headers.get("connection") == "close":
                self.told_to_close += 1
                assert wire.ended()
                return


def loaded(serve: Serve, tls: TlsHolder | None, authority: Authority | None) -> tuple[Live, list[Polite]]:
    """A server whose answers take time or none, in turn, and five callers that are being served."""

    async def later(_: HttpRequest) -> HttpResponse:
        await asyncio.sleep(0.002)
        return HttpResponse(200)

    turns = iter(range(10**9))
    live = serve(lambda request: later(request) if next(turns) % 2 else HttpResponse(200), tls=tls)
    clients = [Polite(live, authority) for _ in range(5)]
    assert until(lambda: all(client.answered > 20 for client in clients))
    return live, clients


def test_a_drain_under_load_fails_no_request(serve: Serve, holder: TlsHolder, authority: Authority) -> None:
    """Callers go on until nobody listens any more: they race the closing of the listener."""
    live, clients = loaded(serve, holder, authority)

    began = time.monotonic()
    live.call(live.server.drain(delay=0.4, grace=5))
    took = time.monotonic() - began
    for client in clients:
        client.join(5)

    assert [client.failure for client in clients] == [None] * 5
    assert all(client.told_to_close > 1 for client in clients)
    assert 0.4 <= took < 3
    assert (live.stats.connections, live.server.addresses) == (0, [])


def test_a_drain_without_tls_fails_no_request_of_callers_that_leave_within_the_delay(serve: Serve) -> None:
    """Weaker than with TLS: without a handshake a request is sent into the backlog, and the kernel resets
    what it has not handed over when the listener closes. Only the delay covers that."""
    live, clients = loaded(serve, None, None)

    began = time.monotonic()
    draining = asyncio.run_coroutine_threadsafe(live.server.drain(delay=1.0, grace=5), live._loop)
    assert until(lambda: all(client.told_to_close > 1 for client in clients))
    for client in clients:
        client.forgotten.set()
    for client in clients:
        client.join(5)
    draining.result(10)

    assert [client.failure for client in clients] == [None] * 5
    assert 0.9 < time.monotonic() - began < 4  # the loop counts its delay in whole, remembered milliseconds
    assert (live.stats.connections, live.server.addresses) == (0, [])


def test_during_the_delay_new_connections_are_served_and_reported_to_close(serve: Serve) -> None:
    live = serve()
    draining = asyncio.run_coroutine_threadsafe(live.server.drain(delay=0.5, grace=1), live._loop)
    assert until(lambda: live.server._service.draining)

    answer = ask(live.address)

    assert (answer.status, answer.headers["connection"]) == (200, "close")
    draining.result(5)
    with pytest.raises(ConnectionRefusedError):
        Wire(live.address)


def test_a_request_in_flight_is_answered_and_idle_connections_are_closed(serve: Serve) -> None:
    gate = Gate()
    live = serve(gate)

    with Wire(live.address) as busy, Wire(live.address) as idle:
        idle.ask("GET", "/free")
        busy.send(request("GET", "/?timeout=20s"))
        assert until(lambda: gate.entered == 1)
        draining = asyncio.run_coroutine_threadsafe(live.server.drain(delay=0, grace=10), live._loop)
        assert idle.ended()
        assert not draining.done()

        gate.open()
        answer = busy.answer()

        assert (answer.body, answer.headers["connection"]) == (b"through", "close")
        assert busy.ended()
    draining.result(5)


def test_a_connection_that_was_just_active_may_send_its_next_request(serve: Serve) -> None:
    """It may be on its way already: it is answered, and told to close."""
    live = serve()

    with Wire(live.address) as wire:
        wire.ask()
        draining = asyncio.run_coroutine_threadsafe(live.server.drain(delay=0, grace=5), live._loop)
        assert until(lambda: not live.server.addresses)

        answer = wire.ask()

        assert (answer.status, answer.headers["connection"]) == (200, "close")
    draining.result(5)


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "TLS"])
def test_what_does_not_end_within_the_grace_is_cut(
    serve: Serve, holder: TlsHolder, authority: Authority, encrypted: bool
) -> None:
    gate = Gate()
    live = serve(gate, tls=holder if encrypted else None)

    with Wire(live.address, tls=authority.trusting() if encrypted else None) as wire:
        wire.send(request("GET", "/?timeout=30s"))
        assert until(lambda: gate.entered == 1)
        began = time.monotonic()
        live.call(live.server.drain(delay=0, grace=0.3))

        assert 0.3 <= time.monotonic() - began < 1.5
        assert wire.ended()
    assert until(lambda: gate.cancelled == 1)
    assert (live.stats.connections, live.stats.inflight) == (0, 0)


def test_a_handshake_that_never_ends_does_not_hold_up_the_drain(serve: Serve, holder: TlsHolder) -> None:
    live = serve(tls=holder)

    with Wire(live.address) as wire:
        assert until(lambda: live.stats.connections == 1)
        began = time.monotonic()
        live.call(live.server.drain(delay=0, grace=0.3))

        assert time.monotonic() - began < 2
        assert wire.ended()
    assert live.stats.connections == 0


def test_a_peer_that_does_not_confirm_the_close_does_not_hold_up_the_drain(serve: Serve) -> None:
    live = serve(limits=ServerLimits(write_seconds=60))

    with Wire(live.address) as wire:
        wire.ask()
        began = time.monotonic()
        live.call(live.server.drain(delay=0, grace=1.5))

        assert time.monotonic() - began < 3.5
    assert live.stats.connections == 0


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("attempt", range(10))
def test_sockets_accepted_in_the_moment_of_the_cut_are_closed(
    serve: Serve, holder: TlsHolder, encrypted: bool, attempt: int
) -> None:
    """Several times: each time the cut comes at another moment of some handshake."""
    live = serve(tls=holder if encrypted else None)
    blocked, connected = threading.Event(), threading.Event()

    async def let_the_backlog_fill_and_leave() -> None:
        blocked.set()
        assert connected.wait(5)
        await live.server.drain(delay=0, grace=0)

    leaving = asyncio.run_coroutine_threadsafe(let_the_backlog_fill_and_leave(), live._loop)
    assert blocked.wait(5)
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(Wire(live.address)) for _ in range(100)]
        connected.set()
        leaving.result(5)

        assert all(wire.ended() for wire in wires)
    assert until(lambda: live.stats.connections == 0)
    assert live.stats.accepted == 100


def test_a_cancelled_drain_leaves_nothing_open(serve: Serve) -> None:
    gate = Gate()
    live = serve(gate)

    async def start_and_cancel() -> None:
        draining = asyncio.create_task(live.server.drain(delay=60, grace=60))
        await asyncio.sleep(0)
        draining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await draining

    with Wire(live.address) as wire:
        wire.send(request())
        assert until(lambda: gate.entered == 1)
        live.call(start_and_cancel())

        assert wire.ended()
    assert (live.stats.connections, live.server.addresses) == (0, [])


def test_draining_twice_is_harmless(serve: Serve) -> None:
    live = serve()

    for _ in range(2):
        live.call(live.server.drain(delay=0, grace=0))

    assert live.server.addresses == []
