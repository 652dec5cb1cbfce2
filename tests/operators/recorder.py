"""A server that notes what it is asked, over real HTTP."""

from __future__ import annotations

import asyncio
from typing import Self

from aiohttp import web

from vestibule.kube.access import ClusterAccess, StaticCredential
from vestibule.kube.client import Client


class Recorder:
    """``async with Recorder() as server: await server.client.send(…)``."""

    def __init__(self, *, hang: bool = False) -> None:
        self.methods: list[str] = []
        self._hang = asyncio.Event()
        if not hang:
            self._hang.set()

    async def _answer(self, request: web.Request) -> web.Response:
        self.methods.append(request.method)
        await self._hang.wait()
        return web.json_response({"metadata": {"name": "a"}}, status=201)

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.client = Client(ClusterAccess(url, None, StaticCredential("")))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._hang.set()
        await self.client.close()
        await self._runner.cleanup()
