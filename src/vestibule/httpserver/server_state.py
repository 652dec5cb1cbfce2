"""What all connections of one server share: the handler, the limits, the switches and the counts.

No socket and no timer lives here; ``server`` turns the switches, ``connection`` obeys them. Counts are plain
integers, written by one thread and read by the metrics adapter whenever it likes.
"""

from __future__ import annotations

import asyncio
import resource
from typing import TYPE_CHECKING, Final

from vestibule.httpserver import eviction
from vestibule.httpserver.endpoint import Fault
from vestibule.httpserver.header_cache import HeaderCache
from vestibule.httpserver.limits import ServerLimits
from vestibule.httpserver.messages import Handler

if TYPE_CHECKING:
    from vestibule.httpserver.connection import Connection
    from vestibule.httpserver.tls import TlsHolder

__all__ = ["ServerState", "ServerStats"]

_RESERVED: Final = 128  # file descriptors for files, the API server and other listeners
_FEWEST: Final = 16  # connections and waiting sockets that are allowed however few descriptors there are
_BATCH: Final = 16  # one in so many is closed at once, so that a flood does not cost a search for each
_READ: Final = 64 * 1024  # bytes; one read, and what a memory BIO of OpenSSL may keep
_SEARCH_PAUSE: Final = 0.05  # seconds before the next search after one that found nothing to close


class ServerStats:
    """Counts of one server; the first four go up and down, the others only up."""

    __slots__ = (
        "accepted", "buffered", "connections", "evicted", "handshakes_failed", "inflight",
        "inflight_bytes", "overdue", "paused", "refused", "requests", "shed", "slow",
    )  # fmt: skip

    def __init__(self) -> None:
        self.connections = 0
        """Open sockets, those still in their handshake included."""
        self.inflight = 0
        """Asynchronous handlers running."""
        self.inflight_bytes = 0
        """Bytes of their requests."""
        self.buffered = 0
        """Bytes held: half-read bodies, answers that are not taken, large read buffers."""
        self.accepted = 0
        """Sockets taken from the listeners."""
        self.refused = 0
        """Sockets closed before their handshake: too many waited."""
        self.evicted = 0
        """Idle or slow connections closed in favour of others."""
        self.handshakes_failed = 0
        """TLS handshakes that ended without a connection."""
        self.paused = 0
        """Times accepting was paused: out of file descriptors or memory of the kernel."""
        self.requests = 0
        """Requests read in full."""
        self.shed = 0
        """Requests answered 429 by the engine."""
        self.overdue = 0
        """Handlers cancelled at their deadline."""
        self.slow = 0
        """Connections cut because the peer was too slow to send or to read."""


class ServerState:
    """The shared state; one per server, alive as long as it."""

    __slots__ = (
        "_full_until", "_queued", "connections", "draining", "empty", "fault", "handler", "heads", "incoming",
        "limits", "lingering", "loop", "most_connections", "most_waiting", "shedding", "stats", "tls",
    )  # fmt: skip

    def __init__(
        self, handler: Handler, limits: ServerLimits, tls: TlsHolder | None, fault: Fault | None = None
    ) -> None:
        self.handler = handler
        self.fault = fault
        self.limits = limits
        self.tls = tls
        self.loop: asyncio.AbstractEventLoop
        """Set when the server starts."""
        self.stats = ServerStats()
        self.heads = HeaderCache()
        self.incoming = memoryview(bytearray(_READ))
        """Where all TLS connections read into, one after the other."""
        self.connections: set[Connection] = set()
        """Connections past their handshake."""
        self._queued: list[Connection] = []
        self._full_until = 0.0
        self.most_connections = limits.connections
        """Open connections, as many as there are file descriptors for."""
        self.most_waiting = limits.waiting
        """The same for sockets before their handshake."""
        self.lingering = 0
        """Connections that are evicted and being sent a refusal."""
        self.draining = False
        """Whether every answer ends its connection."""
        self.shedding = False
        """Whether the loop lags so far behind that requests are refused unheard."""
        self.empty = asyncio.Event()
        """Set whenever the last socket is gone."""

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serve on ``loop``, with no more sockets than this process may open."""
        self.loop = loop
        descriptors = max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _RESERVED, 0)
        self.most_connections = min(self.limits.connections, max(_FEWEST, descriptors * 3 // 4))
        self.most_waiting = min(self.limits.waiting, max(_FEWEST, descriptors - self.most_connections))

    def queue(self, connection: Connection) -> None:
        """Answer the connection once everything that has arrived is read.

        Requests that came together are decided one after the other, and their answers encrypted and sent one
        after the other, instead of each passing all steps by itself: the code and data of a step are in the
        processor's caches for all but the first. That makes a request a third cheaper under load.
        """
        if not self._queued:
            self.loop.call_soon(self._turns)
        self._queued.append(connection)

    def _turns(self) -> None:
        queued, self._queued = self._queued, []
        for connection in queued:
            connection.turn()
        for connection in queued:
            connection.flush()

    def leave(self) -> None:
        """One socket fewer."""
        self.stats.connections -= 1
        if not self.stats.connections:
            self.empty.set()

    def has_capacity(self, coming: int) -> bool:
        """Whether a handshake may begin besides those that are ``coming``: there is a place, or one that can
        be taken."""
        if len(self.connections) + coming < self.most_connections:
            return True
        now = self.loop.time()
        if now < self._full_until:
            return False
        if any(one.waiting_since() is not None for one in self.connections):
            return True
        self._full_until = now + _SEARCH_PAUSE
        return False

    def enter(self, connection: Connection) -> None:
        """One connection more; others are closed for it if there are too many."""
        self.connections.add(connection)
        excess = len(self.connections) - self.most_connections
        if excess > 0:
            self.close_some(excess + self.most_connections // _BATCH)

    def close_some(self, number: int) -> None:
        """Close so many connections that make us wait; fewer when there are no more."""
        most, now = self.most_connections, self.loop.time()
        for one in eviction.chosen(self.connections, lambda _: 1, most, number, now):
            one.evict()

    def relieve(self) -> None:
        """Close connections when too many bytes are held for them."""
        most = self.limits.buffered
        excess = self.stats.buffered - most
        if excess <= 0:
            return
        excess += most // _BATCH
        now = self.loop.time()
        for one in eviction.chosen(self.connections, lambda one: one.held, most, excess, now):
            one.evict()
