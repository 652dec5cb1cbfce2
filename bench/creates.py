"""A steady stream of pods through the API server, created for real, every answer looked at.

The loop is open: a creation's time counts from the moment it was due. One thread and prebuilt requests: at
200 a second it uses a twentieth of a core. Nothing is deleted; the control plane goes as a whole afterwards
(60,000 plain pods are 150 MB in etcd).
"""

from __future__ import annotations

import gc
import select
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from bench import creation
from bench.connection import Connection
from bench.creation import PodCreator

CONNECTIONS = 32
"""They suffice for 200 creations a second as long as each takes less than 160 ms."""
LAST = 20.0
"""Seconds after the last creation was due until everything must be answered."""
TOO_MANY = 100
"""Failures after which a run ends: it measures nothing any more."""
VARIANTS = 32


@dataclass(slots=True)
class Tally:
    """What happened so far."""

    latencies: list[float] = field(default_factory=list)
    """Of creations that succeeded, in seconds."""
    unmutated: int = 0
    """Pods that were created without their identity."""
    failures: list[str] = field(default_factory=list)
    """Creations without success, in words."""

    def quantile(self, share: float) -> float:
        """In ms, the nearest rank; 0 when nothing was created."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1_000 if ordered else 0.0


class Stream:
    """One run."""

    def __init__(self, creator: PodCreator, rate: float, seconds: float) -> None:
        self.tally = Tally()
        self._creator, self._rate, self._count = creator, rate, int(rate * seconds)
        self._epoll = select.epoll()
        self._members: dict[int, Connection] = {}
        self._idle = deque(self._open() for _ in range(CONNECTIONS))
        self._pods = [creator.create(creation.plain(number)) for number in range(VARIANTS)]

    def run(self, every: float, tell: Callable[[Tally], None]) -> Tally:
        """Creates all pods; `tell` is called every so many seconds."""
        gc.disable()
        try:
            self._run(every, tell)
        finally:
            gc.enable()
            for connection in self._members.values():
                connection.close()
            self._epoll.close()
        return self.tally

    def _run(self, every: float, tell: Callable[[Tally], None]) -> None:
        clock = time.perf_counter
        start = reported = clock() + 0.05
        over = start + self._count / self._rate + LAST
        number = 0
        while number < self._count or len(self._idle) < CONNECTIONS:
            now = clock()
            if now > over or len(self.tally.failures) > TOO_MANY:
                left = self._count - number + CONNECTIONS - len(self._idle)
                self.tally.failures += ["not answered at the end"] * left
                return
            if now - reported >= every:
                reported += every
                tell(self.tally)
            while self._idle and number < self._count and (due := start + number / self._rate) <= now:
                self._create(self._idle.popleft(), number, due)
                number += 1
            free = self._idle and number < self._count
            wait = max(0.0, start + number / self._rate - clock()) if free else 0.1
            select.select([self._epoll.fileno()], [], [], wait)  # epoll knows only milliseconds
            for descriptor, _ in self._epoll.poll(0):
                self._answered(self._members[descriptor])

    def _create(self, connection: Connection, number: int, due: float) -> None:
        try:
            connection.send(self._pods[number % VARIANTS], due)
        except OSError as problem:
            self._replace(connection, problem)

    def _answered(self, connection: Connection) -> None:
        try:
            status = connection.receive()
        except OSError as problem:
            self._replace(connection, problem)
            return
        if not status:
            return
        self._idle.append(connection)
        if status != 201:
            self.tally.failures.append(f"{status}: {connection.answer[-200:]!r}")
            return
        self.tally.latencies.append(time.perf_counter() - connection.began)
        self.tally.unmutated += not creation.mutated(connection.answer)

    def _replace(self, connection: Connection, problem: OSError) -> None:
        """Counts a connection that broke, and opens another."""
        self.tally.failures.append(str(problem))
        self._epoll.unregister(connection.fileno())
        del self._members[connection.fileno()]
        if connection in self._idle:
            self._idle.remove(connection)
        connection.close()
        self._idle.append(self._open())

    def _open(self) -> Connection:
        connection = self._creator.connection()
        self._members[connection.fileno()] = connection
        self._epoll.register(connection.fileno(), select.EPOLLIN)
        return connection
