"""Accepted sockets before they are connections: they wait for their first byte, then for a handshake.

A handshake costs CPU time and tens of kilobytes, a socket that has sent nothing almost nothing. So a socket
waits outside of TLS until its first byte is here; then handshakes are begun at a bounded rate, a bounded
number of them at once, and the peers take turns. No peer has more than three quarters of the places, one that
makes no progress while others wait loses its place, and when too many sockets wait, the peer with the most of
them loses its oldest ones. Within a peer the newest is first: the first clients of a flood have mostly given
up.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from typing import Final

from vestibule.httpserver.connection import Connection
from vestibule.httpserver.server_state import ServerState
from vestibule.httpserver.tls_channel import TlsChannel

__all__ = ["PendingConnections"]

_IDLE_SECONDS: Final = 1.0  # seconds after which a handshake gives its place to a waiting one
_RETIRE_SECONDS: Final = 1.0  # during the drain: a new client sends its first byte by then
_AGAIN: Final = 0.01  # seconds until the next handshakes when the rate is used up


class _PendingConnection:
    """One accepted socket."""

    __slots__ = ("came", "due", "peer", "readable", "socket")

    def __init__(self, accepted: socket.socket, peer: str, now: float, seconds: float) -> None:
        self.socket = accepted
        self.peer = peer
        self.came = now
        self.due = now + seconds
        self.readable = False


class _Handshake:
    """One whose handshake is under way."""

    __slots__ = ("arrival", "began", "connection")

    def __init__(self, arrival: _PendingConnection, connection: Connection, now: float) -> None:
        self.arrival = arrival
        self.connection = connection
        self.began = now


class PendingConnections:
    """All sockets of one server that are not yet connections."""

    def __init__(self, service: ServerState) -> None:
        self._service = service
        self._waiting: dict[str, dict[_PendingConnection, None]] = {}
        """By peer, the oldest first; those that have sent nothing and those that wait for a place."""
        self._ready: dict[str, list[_PendingConnection]] = {}
        """By peer, the newest last; the peer whose turn it is comes first."""
        self._running: dict[asyncio.Task[None], _Handshake] = {}
        self._running_of: Counter[str] = Counter()
        self._number = 0
        self._allowed = float(service.limits.handshake_rate)
        self._allowed_at = 0.0
        self._wake: asyncio.TimerHandle | None = None

    def take(self, accepted: socket.socket, peer: str) -> None:
        """Care for a socket that has just been accepted."""
        service = self._service
        stats = service.stats
        stats.accepted += 1
        stats.connections += 1
        accepted.setblocking(False)
        arrival = _PendingConnection(accepted, peer, service.loop.time(), service.limits.handshake_seconds)
        if self._number >= service.most_waiting:
            self.shorten(max(1, service.most_waiting // 16))
        self._number += 1
        self._waiting.setdefault(peer, {})[arrival] = None
        if service.tls is None:
            self._admit(arrival)
        elif not self._peek(arrival):
            service.loop.add_reader(accepted, self._readable, arrival)

    def shorten(self, number: int) -> int:
        """Close so many waiting sockets, the oldest of the peers with most; how many were closed."""
        closed = 0
        while closed < number and self._waiting:
            largest = max(self._waiting, key=lambda peer: len(self._waiting[peer]))
            for arrival in list(self._waiting[largest])[: number - closed]:
                self._service.stats.refused += 1
                self._close(arrival)
                closed += 1
        return closed

    def sweep(self, now: float) -> None:
        """Close who was too slow, and go on with who waits for a place."""
        for peer in list(self._waiting):
            for arrival in list(self._waiting[peer]):
                if arrival.due > now:
                    break
                self._service.stats.handshakes_failed += 1
                self._close(arrival)
        self._begin_some()

    def retire(self) -> None:
        """No more connections are accepted: silent ones have a moment left."""
        for arrivals in self._waiting.values():
            for arrival in arrivals:
                if not arrival.readable:
                    arrival.due = min(arrival.due, self._service.loop.time() + _RETIRE_SECONDS)

    def abort(self) -> None:
        """Close all of them."""
        for arrivals in list(self._waiting.values()):
            for arrival in list(arrivals):
                self._close(arrival)
        for task in self._running:
            task.cancel()
        if self._wake is not None:
            self._wake.cancel()

    # one arrival

    def _readable(self, arrival: _PendingConnection) -> None:
        self._service.loop.remove_reader(arrival.socket)
        if not self._peek(arrival):  # the loop was wrong, or the byte was read already: wait on
            self._service.loop.add_reader(arrival.socket, self._readable, arrival)

    def _peek(self, arrival: _PendingConnection) -> bool:
        """Whether the socket has something for us, its end included; False to wait."""
        try:
            first = arrival.socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            first = b""
        if first:
            self._admit(arrival)
        else:
            self._service.stats.handshakes_failed += 1
            self._close(arrival)
        return True

    def _admit(self, arrival: _PendingConnection) -> None:
        arrival.readable = True
        self._ready.setdefault(arrival.peer, []).append(arrival)
        self._begin_some()

    def _close(self, arrival: _PendingConnection) -> None:
        """Count a socket out that is still waiting."""
        if arrival.readable:
            self._unready(arrival)
        else:
            self._service.loop.remove_reader(arrival.socket)
        self._unwait(arrival)
        arrival.socket.close()
        self._service.leave()

    def _unwait(self, arrival: _PendingConnection) -> None:
        arrivals = self._waiting[arrival.peer]
        del arrivals[arrival]
        if not arrivals:
            del self._waiting[arrival.peer]
        self._number -= 1

    def _unready(self, arrival: _PendingConnection) -> None:
        ready = self._ready[arrival.peer]
        ready.remove(arrival)
        if not ready:
            del self._ready[arrival.peer]

    # handshakes

    def _begin_some(self) -> None:
        """Begin handshakes while a socket is ready and the limits allow one."""
        service = self._service
        while self._ready:
            peer = self._next_peer()
            if peer is None or not self._place() or not self._rate():
                return
            coming = sum(not one.connection.established for one in self._running.values())
            if not service.has_capacity(coming):
                self._allowed += 1
                return  # all are busy; the next sweep tries again
            arrival = self._ready[peer].pop()
            left = self._ready.pop(peer)
            if left:
                self._ready[peer] = left  # behind the others
            self._unwait(arrival)
            self._begin(arrival)

    def _next_peer(self) -> str | None:
        if self._service.tls is None:
            return next(iter(self._ready))
        most = max(1, self._service.limits.handshakes * 3 // 4)
        for peer in self._ready:
            if self._running_of[peer] < most:
                return peer
        self._cancel_idle()
        return None

    def _place(self) -> bool:
        if self._service.tls is None or len(self._running) < self._service.limits.handshakes:
            return True
        self._cancel_idle()
        return False

    def _cancel_idle(self) -> None:
        """Take the place of the oldest handshake of the peer with most, if it has had its time."""
        now = self._service.loop.time()
        idle = [task for task, one in self._running.items() if one.began < now - _IDLE_SECONDS]
        if idle:
            task = max(idle, key=lambda task: self._running_of[self._running[task].arrival.peer])
            task.cancel()  # its end begins the next one

    def _rate(self) -> bool:
        """Whether one more may begin now; a full second's worth may begin at once."""
        service = self._service
        if service.tls is None:
            return True
        rate = service.limits.handshake_rate
        now = service.loop.time()
        self._allowed = min(rate, self._allowed + (now - self._allowed_at) * rate)
        self._allowed_at = now
        if self._allowed >= 1:
            self._allowed -= 1
            return True
        if self._wake is None:
            self._wake = service.loop.call_later(_AGAIN, self._woken)
        return False

    def _woken(self) -> None:
        self._wake = None
        self._begin_some()

    def _begin(self, arrival: _PendingConnection) -> None:
        service = self._service
        now = service.loop.time()
        connection = Connection(service, arrival.peer)
        task = service.loop.create_task(self._shake(arrival, connection, max(0.001, arrival.due - now)))
        self._running[task] = _Handshake(arrival, connection, now)
        self._running_of[arrival.peer] += 1
        task.add_done_callback(self._ended)

    async def _shake(self, arrival: _PendingConnection, connection: Connection, seconds: float) -> None:
        """Shake hands and give the socket to its protocol."""
        service = self._service
        if service.tls is None:
            with contextlib.suppress(OSError):  # gone already
                await service.loop.connect_accepted_socket(lambda: connection, arrival.socket)
            return
        channel = TlsChannel(service, connection, service.tls.current)
        try:
            async with asyncio.timeout(seconds):
                await service.loop.connect_accepted_socket(lambda: channel, arrival.socket)
                await channel.shaken
        except OSError:  # ssl.SSLError and TimeoutError are: a peer that failed or gave up, its own affair
            service.stats.handshakes_failed += 1
        finally:
            if not connection.established and not channel.is_closing():
                channel.abort()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Count a socket out that became no connection; ``_shake`` cannot, it may be cancelled unstarted."""
        ended = self._running.pop(task)
        peer = ended.arrival.peer
        self._running_of[peer] -= 1
        if not self._running_of[peer]:
            del self._running_of[peer]
        if task.cancelled() or not ended.connection.established:
            ended.arrival.socket.close()
            ended.connection.drop()
        if self._ready:
            self._begin_some()
