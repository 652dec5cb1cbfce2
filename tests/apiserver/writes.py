"""Writes of an operator, counted over several API servers by the proxies between, and what becomes of them.

``last``: the process dies with that write: it is done, and nobody hears of it, or of anything after it.
``way``: it is mortal, and dies with the first write of that way that nobody died with before.
``fault``: every write is answered so when it comes for the first time, and done when it comes again.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections import Counter
from collections.abc import Sequence

from tests.rig import messages
from tests.rig.controlplane import ADMIN, MASTERS, ControlPlane
from tests.rig.exchange import Calls, Seen, Shared, Streams
from tests.rig.faultproxy import FaultProxy
from tests.rig.faults import Cut, Fault, Status
from tests.rig.messages import Head

READS = ("GET", "HEAD")
_CONFLICT = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}'
FAULTS: dict[str, Status | Cut] = {
    "409": Status(409, _CONFLICT, {"Content-Type": "application/json"}),
    "429": Status(429, b"", {"Retry-After": "0"}),
    "500": Status(500),
    "503": Status(503, b"", {"Retry-After": "0"}),
    "lost answer": Cut(after=True),
}
"""What can become of a write; the last is done, and nobody hears of it. Where the server names a time it is
none: that others are kept is proven with the client, and dozens of seconds are many here."""


def missed(way: Sequence[str], died: Sequence[str]) -> list[int]:
    """The writes of a recorded way that nobody died with, by number; the first is 1."""
    left = Counter(died)
    found = []
    for number, what in enumerate(way, 1):
        left[what] -= 1
        if left[what] < 0:
            found.append(number)
    return found


def survived(way: Sequence[str], died: Sequence[str]) -> set[str]:
    """The writes of a recorded way that nobody died with at all. Events are apart: single deaths are due at
    their places, but whether one is told there depends on how quickly others answer; it is no state."""
    return {one for one in set(way) - set(died) if not one.endswith("/events")}


def single(way: Sequence[str], died: Sequence[str]) -> list[int]:
    """Where single deaths are due: at both ends, and with what no mortal one came to, or in the middle. An
    Event is such: whoever died with the status that it tells of leaves no change to be told."""
    return sorted({1, len(way), *(missed(way, died) or [len(way) // 2])})


def deadly(way: Sequence[str], died: Sequence[str], what: str) -> bool:
    """Whether a mortal process dies with this write: as often as it is one of the way. What leaves no trace,
    such as a request for a token, is asked for by each of them anew, and must not be the end of all."""
    return died.count(what) < way.count(what)


class Tally:
    """What was written through the proxies of one test."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.died = list[str]()
        """The writes that processes died with, one after the other; whoever reads it empties it."""
        self.begin()

    def begin(self, last: int = 0, fault: Status | Cut | None = None, way: Sequence[str] = ()) -> None:
        """Count from nothing. Who died before says nothing about who comes now."""
        self.dead = threading.Event()
        self.last, self.fault, self.way = last, fault, way
        self.written = list[str]()
        self.struck = set[str]()

    def strikes(self, what: str) -> bool:
        """Whether a write meets the fault."""
        with self._lock:
            if self.fault is None or what in self.struck:
                return False
            self.struck.add(what)
            return True

    def done(self, what: str) -> bool:
        """A write was done; whether it was the last."""
        with self._lock:
            self.written.append(what)
            if len(self.written) != self.last and not deadly(self.way, self.died, what):
                return False
            self.died.append(what)
            return True


class Counted(Calls):
    """One connection; what carries a token is not the operator's."""

    def __init__(self, tally: Tally, shared: Shared, client: Streams) -> None:
        super().__init__(shared, client)
        self._tally, self._dead = tally, tally.dead
        self._writing, self._cut = "", False

    async def _call(self, head: Head) -> bool:
        method, path, _ = head.first.split(" ", 2)
        self._writing = ""
        if method not in READS and b"authorization:" not in head.raw.lower():
            if self._dead.is_set():
                await asyncio.Event().wait()  # a dead process says nothing more
            what = f"{method} {path.partition('?')[0]}"
            if self._tally.strikes(what):
                return await self._struck(head, method, path)
            self._writing = what
        return await super()._call(head)

    async def _struck(self, head: Head, method: str, path: str) -> bool:
        """The fault in place of the write; a lost answer is one to a write that was done."""
        fault = self._tally.fault
        if not isinstance(fault, Status):
            self._cut = True
            return await super()._call(head)
        async for _ in messages.read_body(self._from, head):
            pass
        await self._write(self._to, messages.answer(fault.code, fault.body, fault.headers))
        self._shared.seen.append(Seen(method, path, fault, fault.code))
        return True

    async def _answer(
        self, server: asyncio.StreamReader, method: str, path: str, fault: Fault | None
    ) -> bool:
        if self._cut:
            self._cut = False
            return await super()._answer(server, method, path, Cut(after=True))
        if self._writing and self._tally.done(self._writing):
            await messages.read_head(server)  # it is done
            self._dead.set()
            await asyncio.Event().wait()
        return await super()._answer(server, method, path, fault)


def proxy(plane: ControlPlane, tally: Tally, *, tls: bool = False) -> FaultProxy:
    """A proxy before an API server, which it calls as its administrator; not started. Without ``tls`` towards
    the operator its start costs half: each of its watches is a connection, and a handshake."""
    return FaultProxy(
        plane.url,
        serving=plane.authority.serving("proxy") if tls else None,
        calling=plane.authority.trusting(plane.authority.client(ADMIN, MASTERS)),
        handler=functools.partial(Counted, tally),
    )
