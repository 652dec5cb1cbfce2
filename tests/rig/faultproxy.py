"""A proxy on 127.0.0.1 that stands between any two parts and lets them down on command.

With HTTP it ends TLS on both sides: towards the client with a certificate of the rig's authority, towards
the server as the user whose certificate it was given (a bearer token passes as it is). ``opaque`` passes
bytes, TLS unopened. It runs in a thread with a loop of its own, so a test stays synchronous.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import urllib.parse
from collections.abc import Coroutine, Iterator
from typing import Any, Self, TypeVar

from tests.rig import closed_sockets, exchange, messages, process
from tests.rig.exchange import Bytes, Calls, Handler, Seen, Shared, Streams
from tests.rig.faults import Fault, Rule, Script, Stale, Status

T = TypeVar("T")
_CONTROL_SECONDS = 2 * closed_sockets.SECONDS


class FaultProxy:
    """``with FaultProxy(plane.url, serving=…, calling=…) as proxy: proxy.inject(Cut(), path="/pods")``."""

    def __init__(
        self,
        target: str,
        *,
        serving: ssl.SSLContext | None = None,
        calling: ssl.SSLContext | None = None,
        seed: int = 0,
        handler: Handler = Calls,
    ) -> None:
        place = urllib.parse.urlsplit(target)
        assert place.hostname is not None
        assert place.port is not None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault proxy", daemon=True)
        self._serving, self._handler = serving, handler
        self._scheme = place.scheme if handler is Bytes else ("https" if serving else "http")
        self._script = Script(seed)
        self._shared = Shared(
            place.hostname, place.port, calling, self._script, asyncio.Event(), seen=[], remembered={}
        )
        self._server: asyncio.Server | None = None
        self._live: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self.port = 0

    @classmethod
    def opaque(cls, target: str, *, seed: int = 0) -> Self:
        """Passes bytes; every fault but Status and Stale, decided per connection."""
        return cls(target, seed=seed, handler=Bytes)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    @property
    def seen(self) -> list[Seen]:
        """Every call (or connection) up to now."""
        return list(self._shared.seen)

    def inject(
        self,
        fault: Fault,
        *,
        method: str | None = None,
        path: str = "",
        times: int | None = None,
        chance: float = 1.0,
    ) -> Rule:
        """From now on the fault strikes calls whose path (with query) holds the pattern, ``times`` times."""
        if self._handler is Bytes and isinstance(fault, Status | Stale):
            raise ValueError(f"{type(fault).__name__} needs a proxy that reads HTTP")
        return self._script.add(fault, method, path, times, chance)

    @contextlib.contextmanager
    def fault(self, fault: Fault, **where: Any) -> Iterator[Rule]:
        """The fault of ``inject``, gone at the end of the block."""
        rule = self.inject(fault, **where)
        try:
            yield rule
        finally:
            self._script.remove(rule)

    def clear(self) -> None:
        """No faults, from now on."""
        self._script.clear()

    def start(self) -> Self:
        """Raises OSError when it cannot listen."""
        self._thread.start()
        self._do(self._begin())
        return self

    def stop(self) -> None:
        """Ends every connection and the thread."""
        if self._loop.is_closed():
            return
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CONTROL_SECONDS)
        self._loop.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """New connections are refused (and live ones cut) inside the block."""
        self._do(self._refuse())
        try:
            yield
        finally:
            self._do(self._listen())

    @contextlib.contextmanager
    def stalled(self) -> Iterator[None]:
        """Inside the block connections stay open and not a byte passes."""
        self._do(self._gate(open_=False))
        try:
            yield
        finally:
            self._do(self._gate(open_=True))

    def cut(self) -> int:
        """Resets every live connection; how many there were."""
        return self._do(self._cut())

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_CONTROL_SECONDS)

    async def _begin(self) -> None:
        self._shared.gate.set()
        for attempt in range(5):
            self.port = process.free_port()
            try:
                await self._listen()
            except OSError:
                if attempt == 4:
                    raise
            else:
                return

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._accepted, "127.0.0.1", self.port, ssl=self._serving, limit=messages.LIMIT
        )

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._serve((reader, writer)))
        self._live[task] = writer
        task.add_done_callback(self._live.pop)

    async def _serve(self, client: Streams) -> None:
        try:
            await self._handler(self._shared, client).run()
            client[1].close()
            await asyncio.wait_for(client[1].wait_closed(), 1.0)
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass
        finally:
            client[1].transport.abort()

    async def _gate(self, *, open_: bool) -> None:
        (self._shared.gate.set if open_ else self._shared.gate.clear)()

    async def _refuse(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._cut()

    async def _cut(self) -> int:
        live = dict(self._live)
        for task, writer in live.items():
            exchange.reset(writer)
            task.cancel()
        await asyncio.gather(*live, return_exceptions=True)
        return len(live)

    async def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        await self._cut()
        await closed_sockets.closed()
