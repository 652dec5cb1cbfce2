"""Writes of an operator, counted over several API servers by the proxies between, and what becomes of them.

``last``: the process dies with that write: it is done, and nobody hears of it, or of anything after it.
``fault``: every write is answered so when it comes for the first time, and done when it comes again.
"""

from __future__ import annotations

import asyncio
import functools
import threading

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
    "429": Status(429, b"", {"Retry-After": "1"}),
    "500": Status(500),
    "503": Status(503, b"", {"Retry-After": "1"}),
    "lost answer": Cut(after=True),
}
"""What can become of a write; the last is done, and nobody hears of it."""


class Tally:
    """What was written through the proxies of one test."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.dead = threading.Event()
        self.begin()

    def begin(self, last: int = 0, fault: Status | Cut | None = None) -> None:
        """Count from nothing."""
        self.dead.clear()
        self.last, self.fault = last, fault
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
            return len(self.written) == self.last


class Counted(Calls):
    """One connection; what carries a token is not the operator's."""

    def __init__(self, tally: Tally, shared: Shared, client: Streams) -> None:
        super().__init__(shared, client)
        self._tally = tally
        self._writing, self._cut = "", False

    async def _call(self, head: Head) -> bool:
        method, path, _ = head.first.split(" ", 2)
        self._writing = ""
        if method not in READS and b"authorization:" not in head.raw.lower():
            if self._tally.dead.is_set():
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
            self._tally.dead.set()
            await asyncio.Event().wait()
        return await super()._answer(server, method, path, fault)


def proxy(plane: ControlPlane, tally: Tally) -> FaultProxy:
    """A proxy before an API server, which it calls as its administrator; not started."""
    return FaultProxy(
        plane.url,
        serving=plane.authority.serving("proxy"),
        calling=plane.authority.trusting(plane.authority.client(ADMIN, MASTERS)),
        handler=functools.partial(Counted, tally),
    )
