"""A server in a thread of its own, with its own event loop, as far from the test as one process allows."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import uvloop
from tests.serving.wire import Address

from vestibule.httpserver.certificate_watcher import CertWatcher
from vestibule.httpserver.server import (
    Handler,
    HttpRequest,
    HttpResponse,
    HttpsServer,
    ServerLimits,
    ServerStats,
)
from vestibule.httpserver.tls import TlsHolder

T = TypeVar("T")

LOOPBACK: Sequence[Address] = (("127.0.0.1", 0),)


def echo(request: HttpRequest) -> HttpResponse:
    """Answers with what it was asked."""
    text = f"{request.method} {request.path} {request.query} {request.content_type} ".encode()
    return HttpResponse(200, text + request.body, "text/plain")


class Live:
    """Starts on construction; ``stop`` must be called, the fixture does."""

    def __init__(
        self,
        handler: Handler = echo,
        *,
        limits: ServerLimits | None = None,
        tls: TlsHolder | None = None,
        watcher: CertWatcher | None = None,
        addresses: Sequence[Address] = LOOPBACK,
        loop_factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop,
    ) -> None:
        self.server = HttpsServer(handler, limits=limits or ServerLimits(), tls=tls, name="test")
        self._watcher = watcher
        self._addresses = addresses
        self._loop_factory = loop_factory
        self._started = threading.Event()
        self._failures: list[OSError] = []
        self._thread = threading.Thread(target=self._run, name="live server", daemon=True)
        self._thread.start()
        assert self._started.wait(5)
        for failure in self._failures:
            self._thread.join(5)
            raise failure
        self.addresses = self.server.addresses
        self.address = self.addresses[0]

    @property
    def stats(self) -> ServerStats:
        return self.server.stats

    def call(self, work: Coroutine[Any, Any, T], *, within: float = 10.0) -> T:
        """Run ``work`` on the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(within)

    def stop(self) -> None:
        if self._thread.is_alive():
            self.call(self.server.drain(delay=0, grace=0))
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(5)
            assert not self._thread.is_alive()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=self._loop_factory) as runner:
            runner.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        try:
            await self.server.start(self._addresses)
        except OSError as error:
            self._failures.append(error)
            return
        finally:
            self._started.set()
        watching = asyncio.create_task(self._watcher.run()) if self._watcher is not None else None
        await self._ended.wait()
        if watching is not None:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
