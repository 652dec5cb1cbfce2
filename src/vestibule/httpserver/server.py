"""The HTTPS server: listeners, accepting, the one timer, and the way out.

A socket's life until its handshake is done is ``handshakes``, after it ``connection``; certificates are
``certificate_watcher``. We accept sockets ourselves instead of leaving it to ``create_server``: so no
socket costs a handshake before its turn, each connection uses the newest certificate, and a closing listener
leaves no socket in its backlog. The hard thing is ``drain``: a request that meets a closed connection
is lost, kube-apiserver retries none.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Sequence
from typing import Final

from vestibule.httpserver import allocator, peers
from vestibule.httpserver.endpoint import Fault
from vestibule.httpserver.handshakes import PendingConnections
from vestibule.httpserver.limits import GRAIN, ServerLimits
from vestibule.httpserver.messages import Handler, HttpRequest, HttpResponse
from vestibule.httpserver.server_state import ServerState, ServerStats
from vestibule.httpserver.tls import TlsHolder

__all__ = ["Handler", "HttpRequest", "HttpResponse", "HttpsServer", "ServerLimits", "ServerStats"]

logger = logging.getLogger(__name__)

_BACKLOG: Final = 4096  # sockets the kernel may hold for us; it has a limit of its own, mostly the same
_ACCEPT_BURST: Final = 64  # sockets taken per wake-up, so that a flood of connects does not starve requests
_ACCEPT_PAUSE: Final = 0.5  # seconds to leave a listener alone when we are out of file descriptors
_OF_THE_PEER: Final = frozenset({
    errno.EPERM, errno.EPROTO, errno.ENETDOWN, errno.ENOPROTOOPT, errno.EHOSTDOWN, errno.EHOSTUNREACH,
    errno.EOPNOTSUPP, errno.ENETUNREACH,
})  # fmt: skip
"""What Linux's accept says about the connection that waits, not about us."""
_TICK: Final = 0.25  # seconds between two checks of deadlines and of the loop's own delay
_DEFAULTS: Final = ServerLimits()
_TRIM_AFTER: Final = 256  # closed connections after which free memory is given back
_TRIM_PAUSE: Final = 5.0  # seconds between two times
_ABORT_SECONDS: Final = 1.0  # for aborted transports to report that they are gone


class HttpsServer:
    """One handler behind any number of listening addresses."""

    def __init__(
        self,
        handler: Handler,
        *,
        limits: ServerLimits = _DEFAULTS,
        tls: TlsHolder | None,
        name: str,
        fault: Fault | None = None,
    ) -> None:
        """``fault`` answers in the place of a handler that failed unexpectedly."""
        self._service = ServerState(handler, limits, tls, fault)
        self._name = name
        self._listeners: list[socket.socket] = []
        self._addresses: list[tuple[str, int]] = []
        self._arrivals = PendingConnections(self._service)
        self._paused: dict[socket.socket, asyncio.TimerHandle] = {}
        self._starved = False  # out of file descriptors, since a warning
        self._trimmed_at = 0.0
        self._trimmed = 0  # closed connections by then
        self._timer: asyncio.TimerHandle | None = None
        self._tick_due = 0.0
        self.lag = 0.0
        """Seconds by which the event loop was late at the last tick."""

    @property
    def stats(self) -> ServerStats:
        """Counts, live."""
        return self._service.stats

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where we listen, with the real ports; empty before ``start`` and when drained."""
        return list(self._addresses)

    async def start(self, addresses: Sequence[tuple[str, int]]) -> None:
        """Listen on all ``addresses``, or on none and raise OSError, which names the address.

        Host ``""`` or ``"::"`` means every interface, IPv6 and IPv4; port 0 picks a free one.
        """
        loop = asyncio.get_running_loop()
        self._service.begin(loop)
        try:
            for host, port in addresses:
                self._listeners.append(_listen(host, port))
        except OSError:
            self._close_listeners()
            raise
        for listener in self._listeners:
            loop.add_reader(listener, self._accept, listener)
        self._addresses = [listener.getsockname()[:2] for listener in self._listeners]
        self._tick_due = loop.time()
        self._tick()
        logger.info("listening", extra={"server": self._name, "addresses": self.addresses})

    async def drain(self, *, delay: float, grace: float) -> None:
        """Leave without losing a request; afterwards nothing of this server is left, also if cancelled.

        1. For ``delay`` seconds all goes on, but every answer ends its connection: clients move elsewhere.
        2. No connection is accepted any more; idle connections close, busy ones have ``grace`` seconds to
        finish.
        3. What is still open then is cut, its handlers cancelled.
        """
        service = self._service
        service.draining = True
        try:
            await asyncio.sleep(delay)
            for listener in self._listeners:
                self._accept(listener, _BACKLOG)  # who is in the backlog believes to be connected
            self._close_listeners()
            self._arrivals.retire()
            await asyncio.sleep(0)  # requests that have already arrived are read before anybody looks idle
            for connection in list(service.connections):
                connection.retire()
            await self._emptied(grace)
        finally:
            self._close_listeners()
            cut = service.stats.connections
            self._arrivals.abort()
            for connection in list(service.connections):
                connection.abort()
            await self._emptied(_ABORT_SECONDS)
            if self._timer is not None:
                self._timer.cancel()
            logger.info("drained", extra={"server": self._name, "cut": cut})

    async def _emptied(self, seconds: float) -> None:
        """Wait until no socket is left, at most for ``seconds``."""
        service = self._service
        if service.stats.connections:
            service.empty.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds + GRAIN):
                    await service.empty.wait()

    def _accept(self, listener: socket.socket, most: int = _ACCEPT_BURST) -> None:
        for _ in range(most):
            try:
                accepted, address = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in _OF_THE_PEER:
                    continue
                self._pause(listener, error)
                return
            if self._starved:
                self._starved = False
                logger.info("accepting again", extra={"server": self._name})
            self._arrivals.take(accepted, peers.name(address))

    def _pause(self, listener: socket.socket, error: OSError) -> None:
        """Out of file descriptors: close who waits longest, and leave the listener alone for a moment."""
        service = self._service
        if not self._starved:
            self._starved = True
            logger.warning("accepting paused", extra={"server": self._name, "error": error.strerror})
        service.stats.paused += 1
        self._arrivals.shorten(_ACCEPT_BURST)
        service.close_some(_ACCEPT_BURST)
        service.loop.remove_reader(listener)
        self._paused[listener] = service.loop.call_later(_ACCEPT_PAUSE, self._accept_again, listener)

    def _accept_again(self, listener: socket.socket) -> None:
        del self._paused[listener]
        self._service.loop.add_reader(listener, self._accept, listener)

    def _tick(self) -> None:
        """Measure how late we are, and cut off who is too slow."""
        service = self._service
        now = service.loop.time()
        self.lag = max(0.0, now - self._tick_due)
        service.shedding = self.lag > service.limits.lag_shed_seconds
        self._tick_due = now + _TICK
        self._timer = service.loop.call_later(_TICK, self._tick)
        for connection in [connection for connection in service.connections if connection.due <= now]:
            connection.expire()
        self._arrivals.sweep(now)
        closed = service.stats.accepted - service.stats.connections
        if closed - self._trimmed >= _TRIM_AFTER and now - self._trimmed_at >= _TRIM_PAUSE:
            self._trimmed, self._trimmed_at = closed, now
            allocator.give_back()

    def _close_listeners(self) -> None:
        self._addresses = []
        for pause in self._paused.values():
            pause.cancel()
        self._paused.clear()
        for listener in self._listeners:
            self._service.loop.remove_reader(listener)
            listener.close()
        self._listeners.clear()


def _listen(host: str, port: int) -> socket.socket:
    everywhere = host in {"", "::"}
    if everywhere and socket.has_dualstack_ipv6():
        listener = socket.create_server(
            ("::", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True
        )
    else:
        family = socket.AF_INET6 if ":" in host and not everywhere else socket.AF_INET
        listener = socket.create_server(("" if everywhere else host, port), family=family, backlog=_BACKLOG)
    listener.setblocking(False)
    return listener
