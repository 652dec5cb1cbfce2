"""Our load generator, one process: `python -m bench.loader` reads a Plan from stdin and prints a Report, both
JSON.

closed  every connection sends its next request when the last answer is in; measures what a server can do
open    requests are due at fixed times; latency counts from the time a request was due, not from the time it
        could be sent, so a server that stalls pays for everything that had to wait (no coordinated omission)
churn   one connection per request: handshakes, and what they leave behind in memory
The hard thing is the clock of the open loop: epoll knows only milliseconds; it sleeps in select, then spins.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import ssl
import sys
import time
from collections import deque
from collections.abc import Iterator
from itertools import cycle

import msgspec

from bench import fixtures, processes, sandboxes
from bench.connection import Connection

SPIN = 0.000_2
"""Seconds before a due time from which the open loop polls without sleeping: 4 times the timer slack."""
PRIORITY = -20
PATIENCE = 10.0
"""Seconds without any answer after which a run ends."""
TOO_MANY = 200
"""Broken connections after which a run ends: it measures nothing any more."""


class Plan(msgspec.Struct, kw_only=True):
    mode: str
    port: int
    pid: int
    """The server's process, whose processor time is read."""
    trust: str
    """Path of the certificate to trust."""
    shape: str
    seed: int
    connections: int
    seconds: float
    """Measured time; the warm-up comes before."""
    warmup: float
    rate: float = 0.0
    """Requests per second of the open loop."""
    burst: int = 1
    """Requests that are due at the same moment, as when a ReplicaSet scales up."""
    spin: bool = True
    """False when loader and server share a core: spinning would take it away from the server."""


class Report(msgspec.Struct, kw_only=True):
    requests: int
    seconds: float
    errors: int
    """Answers that are not 2xx, broken connections, requests without answer."""
    p50: float
    p99: float
    worst: float
    """Latencies in ms."""
    server_cpu: float
    loader_cpu: float
    """Shares of a core used in the measured time; a loader near 1 may be the limit."""


class Tally:
    """Latencies, errors and processor time since the end of the warm-up."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.latencies: list[float] = []
        self.broken = 0
        self.restart()

    def restart(self) -> None:
        self.latencies.clear()
        self.errors = 0
        self._began, self._own = time.perf_counter(), time.process_time()
        self._server = processes.cpu_seconds(self._pid)

    def report(self, seconds: float | None = None) -> Report:
        """`seconds` is the time the requests were spread over, where that is not the time since `restart`."""
        took, own = time.perf_counter() - self._began, time.process_time() - self._own
        server = processes.cpu_seconds(self._pid) - self._server
        ordered = sorted(self.latencies)
        return Report(
            requests=len(ordered),
            seconds=seconds or took,
            errors=self.errors,
            p50=_quantile(ordered, 0.50),
            p99=_quantile(ordered, 0.99),
            worst=_quantile(ordered, 1.0),
            server_cpu=server / took,
            loader_cpu=own / took,
        )


class Fleet:
    """The open connections of a run, by file descriptor; a broken one is counted and replaced."""

    def __init__(self, plan: Plan, tally: Tally) -> None:
        self._plan = plan
        self._tally = tally
        self._trust = ssl.create_default_context(cafile=plan.trust)
        self.epoll = select.epoll()
        self.members: dict[int, Connection] = {}
        for _ in range(plan.connections):
            self.open()

    def open(self) -> Connection:
        connection = Connection(self._plan.port, self._trust)
        self.members[connection.fileno()] = connection
        self.epoll.register(connection.fileno(), select.EPOLLIN)
        return connection

    def replace(self, connection: Connection) -> Connection:
        """Counts the broken connection as an error. Raises ConnectionError when there were TOO_MANY."""
        self._tally.errors += 1
        self._tally.broken += 1
        if self._tally.broken > TOO_MANY:
            raise ConnectionError(f"more than {TOO_MANY} broken connections")
        del self.members[connection.fileno()]
        self.epoll.unregister(connection.fileno())
        connection.close()
        return self.open()


def requests(plan: Plan) -> list[bytes]:
    """Whole HTTP requests, ready to be sent."""
    head = (
        f"POST {fixtures.PATH} HTTP/1.1\r\nHost: 127.0.0.1:{plan.port}\r\nContent-Type: application/json\r\n"
    )
    sandboxed = plan.shape == sandboxes.SHAPE
    if sandboxed:
        bodies = sandboxes.bodies(plan.seed)
    elif plan.shape.endswith("-apart"):
        bodies = fixtures.apart_bodies(plan.shape.removesuffix("-apart"), plan.seed)
    else:
        bodies = fixtures.bodies(plan.shape, plan.seed)
    return [f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies]


def closed(plan: Plan) -> Report:
    tally = Tally(plan.pid)
    fleet = Fleet(plan, tally)
    upcoming = cycle(requests(plan))
    clock = time.perf_counter
    start = clock()
    for connection in list(fleet.members.values()):
        connection.send(next(upcoming), clock())
    begin, end = start + plan.warmup, start + plan.warmup + plan.seconds
    warming, now = True, start
    while now < end:
        ready = fleet.epoll.poll(PATIENCE)
        if not ready:
            raise ConnectionError(f"no answer in {PATIENCE:g} s")
        for descriptor, _ in ready:
            connection = fleet.members[descriptor]
            try:
                status = connection.receive()
                if not status:
                    continue
                now = clock()
                tally.latencies.append(now - connection.began)
                if status >= 300:
                    tally.errors += 1
                connection.send(next(upcoming), now)
            except OSError:
                fleet.replace(connection).send(next(upcoming), clock())
        now = clock()
        if warming and now >= begin:
            tally.restart()
            warming = False
    return tally.report()


def due_times(plan: Plan) -> Iterator[float]:
    """Seconds from the start at which requests are due, warm-up included."""
    total = int((plan.warmup + plan.seconds) * plan.rate)
    for number in range(total):
        yield number // plan.burst * plan.burst / plan.rate


def opened(plan: Plan) -> Report:
    tally = Tally(plan.pid)
    fleet = Fleet(plan, tally)
    upcoming = cycle(requests(plan))
    clock = time.perf_counter
    start = clock() + 0.05
    schedule = deque(start + due for due in due_times(plan))
    counted_from = start + plan.warmup
    idle = deque(fleet.members.values())
    late: deque[float] = deque()
    busy = 0
    tally.restart()
    deadline = schedule[-1] + PATIENCE
    while (schedule or late or busy) and clock() < deadline:
        now = clock()
        while schedule and schedule[0] <= now:
            late.append(schedule.popleft())
        while late and idle:
            idle[0].send(next(upcoming), late.popleft())
            idle.popleft()
            busy += 1
        for descriptor, _ in _ready(fleet.epoll, schedule[0] - clock() if schedule else 0.1, plan):
            connection = fleet.members[descriptor]
            try:
                status = connection.receive()
                if not status:
                    continue
                if connection.began >= counted_from:
                    tally.latencies.append(clock() - connection.began)
                    tally.errors += status >= 300
            except OSError:
                connection = fleet.replace(connection)
            busy -= 1
            idle.append(connection)
    tally.errors += busy + len(late) + len(schedule)
    return tally.report(plan.seconds)


def _ready(epoll: select.epoll, wait: float, plan: Plan) -> list[tuple[int, int]]:
    nap = wait - SPIN if plan.spin else wait
    if nap > 0:
        select.select([epoll.fileno()], [], [], nap)
    return epoll.poll(0)


def churned(plan: Plan) -> Report:
    """`connections` connections one after the other, one request on each."""
    tally = Tally(plan.pid)
    trust = ssl.create_default_context(cafile=plan.trust)
    upcoming = cycle(requests(plan))
    for _ in range(plan.connections):
        now = time.perf_counter()
        connection = Connection(plan.port, trust)
        try:
            connection.send(next(upcoming), now)
            tally.errors += connection.wait(PATIENCE) >= 300
        finally:
            connection.close()
        tally.latencies.append(time.perf_counter() - now)
    return tally.report()


def _quantile(ordered: list[float], share: float) -> float:
    """In ms, the nearest rank; 0 when nothing was measured."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1_000


def main() -> None:
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    gc.disable()
    # who measures must be on time: where an API server shares its core, it goes first if the system lets it
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    report = {"closed": closed, "open": opened, "churn": churned}[plan.mode](plan)
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")


if __name__ == "__main__":
    main()
