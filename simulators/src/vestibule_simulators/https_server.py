"""A small HTTPS site for whole answers: what a simulator needs, on any thread, with any header.

The webhook has an engine of its own (``httpserver``), made for one kind of request. Here a handler sees
every header, sets any, and may cut the line instead of answering.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import weakref
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

from aiohttp import web

_LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a request; nothing that is simulated takes more at once."""


class SiteRequest(NamedTuple):
    """A request that has arrived in full."""

    method: str
    path: str
    """Decoded."""
    raw_path: str
    """As it was sent, without the query; signatures cover it."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """By lower-case name."""
    body: bytes
    peer: str = ""
    """Address of whoever asks."""

    @property
    def host(self) -> str:
        """Host and port that were asked for."""
        return self.headers.get("host", "")


class SiteResponse(NamedTuple):
    """An answer, or a line that is cut."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}
    cut: bool = False
    """Whether the connection ends without an answer."""


Handler = Callable[[SiteRequest], Awaitable[SiteResponse]]


class HttpsSite:
    """One handler behind one address. ``async with Site(...) as site: site.port``."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext, host: str, port: int = 0) -> None:
        self._handler, self._tls, self._address = handler, tls, (host, port)
        self._stack = contextlib.AsyncExitStack()
        self._lines: weakref.WeakSet[asyncio.Transport] = weakref.WeakSet()
        self.port = 0

    async def __aenter__(self) -> HttpsSite:
        """Listen. Raises OSError."""
        application = web.Application(client_max_size=_LARGEST)
        application.router.add_route("*", "/{path:.*}", self._answer)
        # what is running when the end comes has a second
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0, handle_signals=False)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        try:
            await web.TCPSite(runner, *self._address, ssl_context=self._tls).start()
        except OSError:
            await self._stack.aclose()
            raise
        self.port = runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        for line in list(self._lines):
            line.abort()  # a goodbye in TLS would wait for clients that keep their connections
        await asyncio.sleep(0)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            self._lines.add(request.transport)
        call = SiteRequest(
            request.method,
            request.path,
            request.rel_url.raw_path,
            dict(request.query),
            {name.lower(): value for name, value in request.headers.items()},
            await request.read(),
            request.remote or "",
        )
        reply = await self._handler(call)
        if reply.cut:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)  # nobody hears it
        response = web.Response(status=reply.status, headers=reply.headers)
        if request.method == "HEAD":
            response.headers.setdefault("Content-Length", str(len(reply.body)))
        else:
            response.body = reply.body
        return response
