"""Whatever a handler does, there is an answer, and the server goes on."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from typing import NoReturn, cast

import pytest
from tests.serving.conftest import Serve
from tests.serving.memory import Memory
from tests.serving.wire import Answer, Wire, ask, request, until

from vestibule import errors
from vestibule.httpserver.connection import Connection
from vestibule.httpserver.server import Handler, HttpRequest, HttpResponse, ServerLimits
from vestibule.httpserver.server_state import ServerState


class Gate:
    """An asynchronous handler that waits until it is let through; /free is answered at once."""

    def __init__(self) -> None:
        self.entered = 0
        self.cancelled = 0
        self._open = threading.Event()

    def __call__(self, request: HttpRequest) -> object:
        return HttpResponse(200, b"free") if request.path == "/free" else self._wait()

    async def _wait(self) -> HttpResponse:
        self.entered += 1
        try:
            while not self._open.is_set():  # noqa: ASYNC110 - the event belongs to another thread
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return HttpResponse(200, b"through")

    def open(self) -> None:
        self._open.set()


def fail(_: HttpRequest) -> NoReturn:
    raise ValueError("secret of the body")


async def fail_later(_: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    raise ValueError("secret of the body")


def refuse(_: HttpRequest) -> NoReturn:
    raise errors.LookupFailed("ServiceAccount a/b", "timeout")


async def refuse_later(_: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    raise errors.Overloaded


async def forget(_: HttpRequest) -> HttpResponse:
    return None  # type: ignore[return-value]


async def time_out_inside(_: HttpRequest) -> HttpResponse:
    raise TimeoutError("of its own")


@pytest.mark.parametrize(
    "handler", [fail, fail_later, lambda _: None, lambda _: b"bytes", forget, time_out_inside]
)
def test_an_unexpected_exception_is_a_500_without_retry_and_the_server_goes_on(
    serve: Serve, handler: object
) -> None:
    live = serve(handler)

    with Wire(live.address) as wire:
        responses = [wire.ask("POST", "/", b"secret of the body") for _ in range(2)]

    expected = Answer(
        500, {"content-type": "text/plain; charset=utf-8", "content-length": "14"}, b"internal error"
    )
    assert responses == [expected, expected]


@pytest.mark.parametrize("handler", [fail, fail_later])
def test_the_log_gets_type_and_stack_of_an_exception_but_not_its_text(
    serve: Serve, handler: object, caplog: pytest.LogCaptureFixture
) -> None:
    live = serve(handler)
    with caplog.at_level(logging.INFO):
        ask(live.address, "POST", "/mutate?token=hidden", b"secret of the body")
        assert until(lambda: any(record.msg == "handler failed" for record in caplog.records))

    (record,) = (record for record in caplog.records if record.msg == "handler failed")
    fields = vars(record)
    assert (fields["method"], fields["path"], fields["error"]) == ("POST", "/mutate", "ValueError")
    assert "test_handlers.py" in fields["stack"]
    assert fields["exc_info"] is None
    assert "hidden" not in str(fields)
    assert "secret of the body" not in fields["stack"].replace('raise ValueError("secret of the body")', "")


@pytest.mark.parametrize("handler", [refuse, refuse_later])
def test_unavailable_is_a_503_that_the_api_server_retries(serve: Serve, handler: object) -> None:
    live = serve(handler)

    answer = ask(live.address)

    assert (answer.status, answer.headers["retry-after"]) == (503, "1")


def test_a_handler_past_its_deadline_is_cancelled_and_answered_503(serve: Serve) -> None:
    gate = Gate()
    live = serve(gate)

    with Wire(live.address) as wire:
        began = time.monotonic()
        answer = wire.ask("POST", "/?timeout=2s", b"{}")
        took = time.monotonic() - began
        after = wire.ask("GET", "/free")

    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert 1 <= took < 2
    assert (after.status, gate.cancelled, live.stats.inflight, live.stats.overdue) == (200, 1, 0, 1)


def test_the_default_deadline_applies_when_the_caller_names_none(serve: Serve) -> None:
    live = serve(Gate(), limits=ServerLimits(deadline_seconds=0.1))

    assert ask(live.address).status == 503


def test_above_the_inflight_limit_waiting_is_refused_but_quick_answers_are_given(serve: Serve) -> None:
    gate = Gate()
    live = serve(gate, limits=ServerLimits(inflight=2))

    with Wire(live.address) as first, Wire(live.address) as second, Wire(live.address) as third:
        first.send(request())
        second.send(request())
        assert until(lambda: gate.entered == 2)

        refused = third.ask()
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert "connection" not in refused.headers
        assert third.ask("GET", "/free").status == 200

        gate.open()
        assert [first.answer().status, second.answer().status, third.ask().status] == [200, 200, 200]
    assert (live.stats.shed, live.stats.inflight) == (1, 0)


def test_the_handler_of_a_client_that_has_gone_is_cancelled(serve: Serve) -> None:
    gate = Gate()
    live = serve(gate)

    with Wire(live.address) as wire:
        wire.send(request())
        assert until(lambda: gate.entered == 1)
        live._loop.call_soon_threadsafe(next(iter(live.server._service.connections)).abort)
        assert wire.ended()

    assert until(lambda: gate.cancelled == 1)
    assert until(lambda: live.stats.inflight == 0)
    assert live.stats.connections == 0


@pytest.mark.parametrize("begun", [False, True])
def test_a_client_that_goes_before_its_handler_starts_leaves_no_warning(begun: bool) -> None:
    async def come_and_go() -> int:
        gate = Gate()
        service = ServerState(cast(Handler, gate), ServerLimits(), None)
        service.loop = asyncio.get_running_loop()
        service.stats.connections = 1
        connection = Connection(service)
        connection.connection_made(cast(asyncio.Transport, Memory()))
        connection.data_received(request())
        if begun:
            connection.turn()
        assert service.stats.inflight == begun
        connection.connection_lost(None)
        await asyncio.sleep(0)  # the turn it asked for comes, and finds nothing
        async with asyncio.timeout(5):
            while service.stats.inflight:  # noqa: ASYNC110 - a count tells nobody
                await asyncio.sleep(0)
        return gate.entered

    entered = asyncio.run(come_and_go())
    gc.collect()

    assert entered == 0


def test_a_lagging_loop_sheds_until_it_is_back(serve: Serve) -> None:
    entered = threading.Event()

    def handler(request: HttpRequest) -> HttpResponse:
        if request.path == "/block":
            entered.set()
            time.sleep(0.7)
        return HttpResponse(200)

    live = serve(handler, limits=ServerLimits(lag_shed_seconds=0.2))

    with Wire(live.address) as blocking, Wire(live.address) as other:
        blocking.send(request("GET", "/block"))
        assert entered.wait(5)
        shed = other.ask()

        assert (shed.status, shed.headers["retry-after"]) == (429, "1")
        assert blocking.answer().status == 200
        assert until(lambda: other.ask().status == 200)
    assert live.server.lag < 0.2
