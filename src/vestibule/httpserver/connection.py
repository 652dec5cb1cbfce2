"""One connection: reads requests, has them answered in order, and is never waited for longer than the
limits allow.

Parsing is ``request_parser``, rendering is ``answers``, the guard around the handler is ``endpoint``. The hot
path is ``data_received`` with a whole request, then ``turn`` with a handler that answers at once, then
``flush``: one parse, one call, one write, no task and no timer. All connections that have something to answer
pass each of the three steps together (see ``Service.queue``). Times are only noted in ``due``; the server's
sweep compares them. The hard thing:
parser, reader, transport and protocol point at each other, and ``connection_lost`` must take that apart, or
each connection waits for the garbage collector (130 MiB after 30,000 of them).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final, cast

from vestibule.httpserver import endpoint, request_parser, responses
from vestibule.httpserver.messages import HttpRequest, HttpResponse
from vestibule.httpserver.server_state import ServerState

__all__ = ["Connection"]

_WRITE_HIGH_WATER: Final = 16 * 1024  # bytes; an answer of ours is 2 KiB; more than this is counted as held
_SMALL_READ: Final = 8 * 1024  # bytes; a review of most pods, and what a read buffer costs uncounted
_LINGER_SECONDS: Final = 0.25  # for the refusal of an evicted peer to be sent
_MOST_LINGERING: Final = 16  # evicted peers that are sent a refusal at the same time; others are just closed
_RETIRE_SECONDS: Final = 1.0  # a peer that was active this recently may have a request on its way


class Connection(asyncio.Protocol):
    """The protocol of one accepted socket, made when its handshake is done or not needed."""

    __slots__ = (
        "__weakref__", "_blocked", "_buffer", "_gone", "_half_closed", "_out", "_queued", "_reader",
        "_service", "_small", "_task", "_timed", "_transport", "due", "held", "peer", "proven",
    )  # fmt: skip

    def __init__(self, service: ServerState, peer: str = "") -> None:
        self._service = service
        self._reader = request_parser.RequestParser(service.limits, service.loop.time, service.heads)
        self._task: asyncio.Task[HttpResponse] | None = None
        self._blocked = False  # the peer reads too slowly: answer nothing more for now
        self._half_closed = False  # the peer sends no more, but is owed answers
        self._buffer = 0  # bytes of the TLS layer's read buffer that large reads have touched
        self._small = _SMALL_READ if service.tls is not None else sys.maxsize  # plain text has no such buffer
        self._timed = 0  # request and stage `due` was set for
        self._queued = False  # waits for its turn to be answered
        self._out = b""  # answers not yet given to the transport
        self._gone = False  # counted out
        self.peer = peer
        """Who it comes from, as ``peers`` names it."""
        self.proven = False
        """Whether a request has been answered."""
        self.held = 0
        """Our share of ``stats.buffered``."""
        self.due = 0.0
        """``loop.time()`` at which the peer is too late with what we wait for; no matter while a handler
        runs."""

    # what the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        service = self._service
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_WRITE_HIGH_WATER)
        if service.tls is not None:
            self._reader.forbidden = service.tls.refuses(transport.get_extra_info("peercert"))
        self.due = service.loop.time() + service.limits.idle_seconds
        service.enter(self)

    def data_received(self, data: bytes) -> None:
        incoming = self._reader
        if len(data) > self._small:
            self._small = self._buffer = len(data)
        incoming.feed(data)
        if incoming.inbox and not self._queued:
            self._queued = True
            self._service.queue(self)
        if incoming.stage == request_parser.IDLE and not self.held and not self._buffer and not self._blocked:
            self.due = incoming.now + self._service.limits.idle_seconds
        else:
            self._note()

    def eof_received(self) -> bool:
        """The peer sends no more; a plain-text peer may still wait for the answers it is owed."""
        if self._reader.inbox:
            self._pump()
            self.flush()
        self._reader.end()
        self._hold(self._buffer)
        owed = self._task is not None or bool(self._reader.inbox)
        self._half_closed = owed and self._service.tls is None  # TLS has no such state
        return self._half_closed

    def pause_writing(self) -> None:
        self._blocked = True
        self._transport.pause_reading()
        self._wait(self._service.limits.write_seconds)
        self._hold(self._buffer + self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._blocked = False
        self._resume()

    def connection_lost(self, exc: Exception | None) -> None:
        service = self._service
        service.connections.discard(self)
        if self._gone:
            return  # called twice, see ``drop``
        self._gone = True
        self._hold(0)
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        self._reader.discard()
        self._out = b""
        if self.established:
            del self._transport
        service.leave()

    # what the server calls

    def turn(self) -> None:
        """Answer what has come; called once for every time the connection asked to be queued."""
        self._queued = False
        if self._reader.inbox:  # empty when the connection was lost meanwhile
            self._pump()

    def flush(self) -> None:
        """Send the answers."""
        if self._out:
            out, self._out = self._out, b""
            self._transport.write(out)

    @property
    def established(self) -> bool:
        """Whether there has been a connection: then ``connection_lost`` counts the socket out."""
        return self.due > 0

    def expire(self) -> None:
        """The time in ``due`` has passed: cut the peer off, unless it is us who make it wait."""
        if self._task is not None:
            return
        if self._reader.stage == request_parser.IDLE and not self._blocked:
            self._reader.end()
            self._finish()
            return
        if self._blocked or self._reader.stage != request_parser.ENDED:
            self._service.stats.slow += 1
        self._transport.abort()

    def waiting_since(self) -> float | None:
        """When the peer began to make us wait; None while it is us who owe it an answer."""
        limits = self._service.limits
        stage = self._reader.stage
        if self._blocked:
            return self.due - limits.write_seconds
        if self._task is not None or self._queued or self._reader.inbox:
            return None
        if stage == request_parser.IDLE:
            return self.due - limits.idle_seconds
        if stage == request_parser.HEAD:
            return self.due - limits.header_seconds
        return self.due - (limits.body_seconds if stage == request_parser.BODY else limits.write_seconds)

    def evict(self) -> None:
        """Close in favour of other connections; a request that has begun is refused, if its peer ever sent
        one."""
        service = self._service
        service.stats.evicted += 1
        service.connections.discard(self)
        begun = self._reader.stage in {request_parser.HEAD, request_parser.BODY} and not self._blocked
        if not begun or not self.proven or service.lingering >= _MOST_LINGERING:
            self._hold(0)
            self._buffer = 0
            self._transport.abort()
            return
        service.lingering += 1
        service.loop.call_later(_LINGER_SECONDS, self._cut)
        service.stats.shed += 1
        self._reader.refuse(responses.final(429, retry_after=1))
        self._pump()

    def _cut(self) -> None:
        self._service.lingering -= 1
        if not self._gone:
            self._transport.abort()

    def retire(self) -> None:
        """Close as soon as no request can be on its way; one that still comes is answered, with a close."""
        if self._task is None and not self._blocked and self._reader.stage == request_parser.IDLE:
            last_active = self.due - self._service.limits.idle_seconds
            self.due = last_active + _RETIRE_SECONDS
            if self.due <= self._service.loop.time():
                self.expire()

    def drop(self) -> None:
        """Count the socket out whose handshake failed or was cancelled.

        A loop that is cancelled between creating a connection and reporting it closes it, and some never call
        ``connection_lost``.
        """
        self.connection_lost(None)

    def abort(self) -> None:
        """Close without any wait; a running handler is cancelled."""
        self._transport.abort()

    # inner works

    def _pump(self) -> None:
        """Answer what is queued until nothing is, a handler needs time or the peer must read first."""
        service = self._service
        inbox = self._reader.inbox
        while inbox and self._task is None and not self._blocked:
            item = inbox.popleft()
            if isinstance(item, bytes):
                self._send(item)
                continue
            request, connection = item
            service.stats.requests += 1
            if service.shedding:
                service.stats.shed += 1
                self._answer(request, connection, responses.BUSY)
                continue
            result = endpoint.call(service.handler, request, service.fault)
            if isinstance(result, HttpResponse):
                self._answer(request, connection, result)
            else:
                self._begin(request, connection, result)
        if self._reader.stage == request_parser.ENDED and not inbox and self._task is None:
            self._finish()

    def _answer(self, request: HttpRequest, connection: str, response: HttpResponse) -> None:
        incoming = self._reader
        self.proven = True
        if self._service.draining:
            incoming.end()
            incoming.inbox.clear()
        if incoming.stage == request_parser.ENDED and not incoming.inbox:
            connection = responses.CLOSE
        self._send(responses.render(response, connection, request.method))

    def _send(self, data: bytes) -> None:
        self._out = self._out + data if self._out else data
        if len(self._out) > _WRITE_HIGH_WATER:
            self.flush()

    def _begin(self, request: HttpRequest, connection: str, work: Coroutine[Any, Any, HttpResponse]) -> None:
        """Start an asynchronous handler; until it is done nothing more is read."""
        service = self._service
        size = len(request.body)
        if (
            service.stats.inflight >= service.limits.inflight
            or service.stats.inflight_bytes + size > service.limits.inflight_bytes
        ):
            work.close()
            service.stats.shed += 1
            self._answer(request, connection, responses.BUSY)
            return
        service.stats.inflight += 1
        service.stats.inflight_bytes += size
        self._task = service.loop.create_task(endpoint.bounded(work, request.deadline))
        self._task.add_done_callback(partial(self._settle, request, connection, work))
        self._transport.pause_reading()

    def _settle(
        self,
        request: HttpRequest,
        connection: str,
        work: Coroutine[Any, Any, HttpResponse],
        task: asyncio.Task[HttpResponse],
    ) -> None:
        work.close()  # a task cancelled before its first step has not touched it
        self._service.stats.inflight -= 1
        self._service.stats.inflight_bytes -= len(request.body)
        response = endpoint.outcome(task, request, self._service.fault)
        if not task.cancelled() and isinstance(task.exception(), endpoint.DeadlineExceeded):
            self._service.stats.overdue += 1
        if self._task is not task:
            return  # the peer is gone
        self._task = None
        if self._transport.is_closing():
            return
        self._answer(request, connection, response)
        self._resume()

    def _resume(self) -> None:
        """Go on after a handler is done or the peer has read."""
        self._pump()
        self.flush()
        if self._task is not None or self._blocked or self._transport.is_closing():
            return
        if self._reader.stage == request_parser.ENDED:
            return
        self._transport.resume_reading()
        self._timed = 0
        self._note()

    def _note(self) -> None:
        """Note how long the peer may take for what it owes us, and how much of it we hold already."""
        incoming, service = self._reader, self._service
        if self._blocked:
            return  # it owes us the reading of our answers first
        if incoming.stage not in {request_parser.HEAD, request_parser.BODY}:
            self._hold(self._buffer)
            if incoming.stage == request_parser.IDLE:
                self._wait(service.limits.idle_seconds)
            return
        timed = incoming.count * 4 + incoming.stage
        if timed != self._timed:
            self._timed = timed
            limits = service.limits
            self._wait(
                limits.header_seconds if incoming.stage == request_parser.HEAD else limits.body_seconds
            )
        self._hold(self._buffer + incoming.held)

    def _finish(self) -> None:
        """All is answered and no more will be read: close in a way that lets the peer read the last answer.

        Closing a socket over unread bytes resets it, and a reset overtakes the answer. So what still comes
        is read and dropped until the peer closes too: TLS does that by itself after its close_notify.
        """
        self._hold(self._buffer)
        if self._transport.is_closing():
            return
        self.flush()
        self._wait(self._service.limits.write_seconds)
        if self._service.tls is None and not self._half_closed:
            self._transport.write_eof()
            self._transport.resume_reading()  # or we would not see the peer close
        else:
            self._transport.close()

    def _wait(self, seconds: float) -> None:
        self.due = self._service.loop.time() + seconds

    def _hold(self, size: int) -> None:
        """Count what we hold; over the total limit, a connection is closed."""
        service = self._service
        grown = size - self.held
        self.held = size
        service.stats.buffered += grown
        if grown > 0 and service.stats.buffered > service.limits.buffered:
            service.loop.call_soon(service.relieve)  # not from within a write or a read
