"""One connection through the fault proxy: calls of HTTP/1.1, or plain bytes.

The server's end is opened with the first call and lives as long as the client's end: when either side hangs
up, so do we, and the proxy adds no failure that the two would not have had. Every byte waits at the gate, so
that a stalled proxy keeps connections open and says nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Callable
from typing import NamedTuple

from tests.rig import messages
from tests.rig.faults import Cut, Delay, Fault, Script, Stale, Status, Truncate
from tests.rig.messages import Head

REMEMBERED = 8 << 20
"""Bytes of one answer that are kept for Stale; longer ones (and watches, which do not end) are not."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Seen(NamedTuple):
    """One call: what was asked, what we did to it, and the status that the client got (0: none)."""

    method: str
    path: str
    fault: Fault | None
    status: int


class Shared(NamedTuple):
    """What the connections of one proxy have in common."""

    host: str
    port: int
    calling: ssl.SSLContext | None
    script: Script
    gate: asyncio.Event
    seen: list[Seen]
    remembered: dict[str, bytes]


def reset(writer: asyncio.StreamWriter) -> None:
    """RST instead of a polite end."""
    if not writer.transport.is_closing() and (to := writer.get_extra_info("socket")) is not None:
        with contextlib.suppress(OSError):
            to.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def connected(shared: Shared) -> Streams:
    """The server's end. Raises OSError."""
    return await asyncio.open_connection(
        shared.host, shared.port, ssl=shared.calling, limit=messages.LIMIT, happy_eyeballs_delay=None
    )


async def ended(tasks: set[asyncio.Task[None]]) -> None:
    """Cancels them and waits until they are over."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Calls:
    """HTTP/1.1: a fault per call."""

    def __init__(self, shared: Shared, client: Streams) -> None:
        self._shared, (self._from, self._to) = shared, client
        self._server: Streams | None = None

    async def run(self) -> None:
        tasks = {asyncio.ensure_future(self._calls()), asyncio.ensure_future(self._hung_up())}
        try:
            await asyncio.wait(tasks, return_when="FIRST_COMPLETED")
        finally:
            try:
                await ended(tasks)
            finally:  # a proxy that is stopped while this waits cancels it a second time
                if self._server is not None:
                    self._server[1].transport.abort()

    async def _calls(self) -> None:
        try:
            while (head := await self._next()) is not None and await self._call(head):
                pass
        except (OSError, ValueError, asyncio.IncompleteReadError):
            reset(self._to)

    async def _hung_up(self) -> None:
        """Ends when the client is gone, which nobody would notice while the server has nothing to say."""
        while not (self._from.at_eof() or self._to.is_closing()):  # noqa: ASYNC110 - streams tell nobody
            await asyncio.sleep(0.05)

    async def _next(self) -> Head | None:
        """The next call; None when either side hung up."""
        reading = asyncio.ensure_future(messages.read_head(self._from))
        watching = asyncio.ensure_future(self._server[0].read(1)) if self._server else None
        try:
            await asyncio.wait({reading, *([watching] if watching else [])}, return_when="FIRST_COMPLETED")
            return reading.result() if reading.done() else None
        finally:
            for task in (reading, watching):
                if task is not None and not task.done():
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError, OSError, ValueError):
                        await task

    async def _call(self, head: Head) -> bool:
        """One call; whether the connection may go on."""
        method, path, _ = head.first.split(" ", 2)
        body = b"".join([piece async for piece in messages.read_body(self._from, head)])
        fault = self._shared.script.pick(method, path)
        if isinstance(fault, Status):
            await self._write(self._to, messages.answer(fault.code, fault.body, fault.headers))
            return self._report(method, path, fault, fault.code)
        if isinstance(fault, Stale) and method == "GET" and path in self._shared.remembered:
            await self._write(self._to, self._shared.remembered[path])
            return self._report(method, path, fault, 200)
        if isinstance(fault, Cut) and not fault.after:
            reset(self._to)
            self._report(method, path, fault, 0)
            return False
        if isinstance(fault, Delay) and not fault.after:
            await asyncio.sleep(fault.seconds)
        if self._server is None:
            self._server = await connected(self._shared)
        await self._write(self._server[1], head.raw + body)
        return await self._answer(self._server[0], method, path, fault)

    async def _answer(
        self, server: asyncio.StreamReader, method: str, path: str, fault: Fault | None
    ) -> bool:
        head = await messages.read_head(server)
        while head is not None and head.status < 200:
            await self._write(self._to, head.raw)
            head = await messages.read_head(server)
        if isinstance(fault, Cut) or head is None:
            reset(self._to)
            self._report(method, path, fault, 0)
            return False
        if isinstance(fault, Delay) and fault.after:
            await asyncio.sleep(fault.seconds)
        self._report(method, path, fault, head.status)
        await self._write(self._to, head.raw)
        left = fault.size if isinstance(fault, Truncate) else None
        stored: bytearray | None = bytearray(head.raw)
        async for piece in messages.read_body(server, head, to=method):
            await self._write(self._to, piece if left is None else piece[:left])
            if left is not None and (left := left - len(piece)) <= 0:
                return False
            if stored is not None:
                stored = stored + piece if len(stored) + len(piece) <= REMEMBERED else None
        if stored is not None and method == "GET" and head.status == 200:
            self._shared.remembered[path] = bytes(stored)
        return not head.closes

    async def _write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        await self._shared.gate.wait()
        writer.write(data)
        await writer.drain()

    def _report(self, method: str, path: str, fault: Fault | None, status: int) -> bool:
        self._shared.seen.append(Seen(method, path, fault, status))
        return True


class Bytes:
    """Anything over TCP, such as gRPC to etcd or TLS that nobody may open: a fault per connection."""

    def __init__(self, shared: Shared, client: Streams) -> None:
        self._shared, self._client = shared, client

    async def run(self) -> None:
        fault = self._shared.script.pick("", "")
        self._shared.seen.append(Seen("", "", fault, 0))
        if fault == Cut():
            reset(self._client[1])
            return
        try:
            server = await connected(self._shared)
        except OSError:
            reset(self._client[1])
            return
        pumps = {
            asyncio.ensure_future(self._pump(self._client[0], server[1], fault, None)),
            asyncio.ensure_future(self._pump(server[0], self._client[1], fault, _allowed(fault))),
        }
        try:
            await asyncio.wait(pumps, return_when="FIRST_COMPLETED")
        finally:
            server[1].transport.abort()
            if isinstance(fault, Cut):
                reset(self._client[1])
            await ended(pumps)

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, fault: Fault | None, left: int | None
    ) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(1 << 16):
                if isinstance(fault, Delay):
                    await asyncio.sleep(fault.seconds)
                await self._shared.gate.wait()
                sink.write(piece if left is None else piece[:left])
                await sink.drain()
                if left is not None and (left := left - len(piece)) <= 0:
                    return


def _allowed(fault: Fault | None) -> int | None:
    """Bytes that the server may say; None: all."""
    if isinstance(fault, Truncate):
        return fault.size
    return 0 if isinstance(fault, Cut) else None


Handler = Callable[[Shared, Streams], Calls | Bytes]
