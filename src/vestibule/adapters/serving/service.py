"""What all connections of one server share: the handler, the limits, the switches and the counts.

No socket and no timer lives here; ``server`` turns the switches, ``protocol`` obeys them. Counts are plain
integers, written by one thread and read by the metrics adapter whenever it likes.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from vestibule.adapters.serving.heads import Heads
from vestibule.adapters.serving.limits import Limits
from vestibule.adapters.serving.messages import Handler

if TYPE_CHECKING:
    from vestibule.adapters.serving.protocol import Connection
    from vestibule.adapters.serving.tls import TlsHolder

__all__ = ["Service", "Stats"]


class Stats:
    """Counts of one server; the first three go up and down, the others only up."""

    __slots__ = (
        "accepted", "buffered", "connections", "handshakes_failed", "inflight", "overdue", "refused",
        "requests", "shed", "slow",
    )  # fmt: skip

    def __init__(self) -> None:
        self.connections = 0
        """Open sockets, those still in their handshake included."""
        self.inflight = 0
        """Asynchronous handlers running."""
        self.buffered = 0
        """Bytes of half-read bodies."""
        self.accepted = 0
        """Sockets taken from the listeners."""
        self.refused = 0
        """Sockets closed at accept: over the hard limit."""
        self.handshakes_failed = 0
        """TLS handshakes that ended without a connection."""
        self.requests = 0
        """Requests read in full."""
        self.shed = 0
        """Requests answered 429 by the engine."""
        self.overdue = 0
        """Handlers cancelled at their deadline."""
        self.slow = 0
        """Connections cut because the peer was too slow to send or to read."""


class Service:
    """The shared state; one per server, alive as long as it."""

    __slots__ = (
        "_queued", "connections", "draining", "empty", "handler", "heads", "limits", "loop", "shedding",
        "stats", "tls",
    )  # fmt: skip

    def __init__(self, handler: Handler, limits: Limits, tls: TlsHolder | None) -> None:
        self.handler = handler
        self.limits = limits
        self.tls = tls
        self.loop: asyncio.AbstractEventLoop
        """Set when the server starts."""
        self.stats = Stats()
        self.heads = Heads()
        self.connections: set[Connection] = set()
        """Connections past their handshake."""
        self._queued: list[Connection] = []
        self.draining = False
        """Whether every answer ends its connection."""
        self.shedding = False
        """Whether the loop lags so far behind that requests are refused unheard."""
        self.empty = asyncio.Event()
        """Set whenever the last socket is gone."""

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
