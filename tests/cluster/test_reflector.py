"""A list that comes again: what it leaves out is forgotten, whole namespaces included, and told once each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiohttp import web

from vestibule.api import gvk
from vestibule.kube.access import ClusterAccess, StaticCredential
from vestibule.kube.client import Client
from vestibule.kube.ports import WatchEvent
from vestibule.kube.slim_informer import SlimInformer

Json = dict[str, Any]
GONE = b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}\n'


def account(namespace: str, name: str, role: str = "") -> Json:
    annotations = {"cwii.dev/aws-role-arn": role} if role else {}
    return {"metadata": {"namespace": namespace, "name": name, "annotations": annotations}}


class Server:
    """Speaks list and watch of one kind: pages as they are laid out, and watches that say 410 when told."""

    def __init__(self, *pages: list[Json]) -> None:
        self.pages = list(pages)
        self.forget = asyncio.Event()
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            number = int(request.query.get("continue", "0"))
            following = str(number + 1) if number + 1 < len(self.pages) else ""
            meta = {"resourceVersion": "7", "continue": following}
            return web.json_response({"metadata": meta, "items": self.pages[number]})
        response = web.StreamResponse()
        await response.prepare(request)
        await self.forget.wait()
        self.forget.clear()
        await response.write(GONE)
        return response


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Server]:
    app = web.Application()
    app.router.add_get("/api/v1/serviceaccounts", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


async def listed(reflector: SlimInformer, times: int) -> None:
    async with asyncio.timeout(10):
        while reflector.lists < times:  # noqa: ASYNC110 - a reflector tells changes, not lists
            await asyncio.sleep(0.01)


async def relisted(
    before: list[list[Json]], after: list[list[Json]]
) -> tuple[SlimInformer, list[WatchEvent]]:
    """A reflector that has seen two lists, and what the second one told."""
    reported: list[WatchEvent] = []
    async with serving(Server(*before)) as server:
        client = Client(ClusterAccess(server.url, None, StaticCredential("")))
        reflector = SlimInformer(client, gvk.SERVICE_ACCOUNT, reported.append)
        task = asyncio.create_task(reflector.run())
        try:
            await listed(reflector, 1)
            reported.clear()
            server.pages = after
            server.forget.set()
            await listed(reflector, 2)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await client.close()
    return reflector, reported


def changes(told: list[WatchEvent]) -> set[tuple[str, str]]:
    return {(event.change, f"{event.source.namespace}/{event.source.name}") for event in told}


def test_a_second_list_tells_every_difference_once() -> None:
    before = [[account("a", "stays"), account("a", "goes")], [account("a", "changes"), account("b", "goes")]]
    after = [[account("a", "stays"), account("a", "changes", "new")], [account("c", "comes")]]
    reflector, reported = asyncio.run(relisted(before, after))

    assert changes(reported) == {
        ("deleted", "a/goes"),
        ("deleted", "b/goes"),
        ("modified", "a/changes"),
        ("added", "c/comes"),
    }
    assert len(reported) == 4
    assert len(reflector.store) == 3
    assert sorted(reflector.store.namespaces()) == ["a", "c"]


def test_a_second_list_that_is_the_same_tells_nothing() -> None:
    same = [[account("a", "one"), account("b", "two")], [account("b", "three", "role")]]
    reflector, reported = asyncio.run(relisted(same, same))

    assert reported == []
    assert len(reflector.store) == 3


def test_a_second_list_that_is_empty_forgets_everything() -> None:
    reflector, reported = asyncio.run(relisted([[account("a", "one"), account("b", "two")]], [[]]))

    assert changes(reported) == {("deleted", "a/one"), ("deleted", "b/two")}
    assert len(reflector.store) == 0
