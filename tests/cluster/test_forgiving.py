"""A process with the rights of the program it stands in for: it reads ServiceAccounts, and goes on without
namespaces and workloads. A login that fails is another matter."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from aiohttp import web

from vestibule import errors
from vestibule.api import gvk
from vestibule.kube.access import ClusterAccess, StaticCredential
from vestibule.kube.client import Client
from vestibule.kube.live_cluster import LiveCluster
from vestibule.kube.ports import UNKNOWN

ACCOUNT = {"metadata": {"namespace": "a", "name": "app", "resourceVersion": "7"}}


class Server:
    """Shows ServiceAccounts, and answers everything else with one status."""

    def __init__(self) -> None:
        self.status = 403
        self.asked: Counter[str] = Counter()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.path] += 1
        if request.path != "/api/v1/serviceaccounts":
            return web.json_response({"kind": "Status", "message": "you may not"}, status=self.status)
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "7"}, "items": [ACCOUNT]})
        response = web.StreamResponse()
        await response.prepare(request)
        await asyncio.sleep(60)
        return response


@asynccontextmanager
async def running(server: Server, *, forgiving: bool, now: Callable[[], float]) -> AsyncIterator[LiveCluster]:
    app = web.Application()
    app.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    client = Client(ClusterAccess(f"http://127.0.0.1:{runner.addresses[0][1]}", None, StaticCredential("")))
    cluster = LiveCluster(client, clock=now, forgiving=forgiving)
    task = asyncio.create_task(cluster.run())
    try:
        yield cluster
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await cluster.close()
        await runner.cleanup()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - nobody tells of a failed list
            await asyncio.sleep(0.01)


Test = Callable[[Server, LiveCluster, list[float]], Coroutine[Any, Any, None]]


def play(test: Test, *, forgiving: bool) -> None:
    clock = [0.0]

    async def main() -> None:
        server = Server()
        async with running(server, forgiving=forgiving, now=lambda: clock[0]) as cluster:
            await test(server, cluster, clock)

    asyncio.run(main())


def test_what_may_not_be_read_is_passed_over_and_asked_for_again_after_a_while() -> None:
    async def test(server: Server, cluster: LiveCluster, clock: list[float]) -> None:
        await until(lambda: not cluster.problem())
        assert cluster.peek(gvk.SERVICE_ACCOUNT, "a", "app") is not None
        for kind, namespace in ((gvk.NAMESPACE, ""), (gvk.REPLICA_SET, "a")):
            assert cluster.peek(kind, namespace, "x") is UNKNOWN
            assert await cluster.get(kind, namespace, "x") is None
            assert cluster.peek(kind, namespace, "another") is None
            clock[0] += 61
            assert cluster.peek(kind, namespace, "another") is UNKNOWN
        assert server.asked["/apis/apps/v1/namespaces/a/replicasets/x"] == 1
        assert cluster.lookups["ReplicaSet", "forbidden"] == 1

    play(test, forgiving=True)


def test_accounts_must_be_read_whatever_else_may_be_missing() -> None:
    async def test(_: Server, cluster: LiveCluster, clock: list[float]) -> None:
        del clock
        with pytest.raises(errors.Forbidden, match="you may not"):
            await cluster.get(gvk.SERVICE_ACCOUNT, "a", "unknown")

    play(test, forgiving=True)


def test_a_login_that_fails_is_never_passed_over() -> None:
    async def test(server: Server, cluster: LiveCluster, clock: list[float]) -> None:
        del clock
        server.status = 401
        await until(lambda: "you may not" in cluster.problem())
        with pytest.raises(errors.Forbidden):
            await cluster.get(gvk.REPLICA_SET, "a", "x")
        assert cluster.peek(gvk.REPLICA_SET, "a", "x") is UNKNOWN

    play(test, forgiving=True)


def test_by_default_a_right_that_is_missing_is_a_fault() -> None:
    async def test(_: Server, cluster: LiveCluster, clock: list[float]) -> None:
        del clock
        await until(lambda: "you may not" in cluster.problem())
        with pytest.raises(errors.Forbidden):
            await cluster.get(gvk.REPLICA_SET, "a", "x")

    play(test, forgiving=False)
