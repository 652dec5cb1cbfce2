"""The rate of evictions holds when the API server answers slowly: the clock goes on during every call."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from tests.operators.test_audit import entry
from vestibule.checks.pod_report import PodController
from vestibule.diagnose.audit.evictions import Evictions
from vestibule.kube.access import ClusterAccess, StaticCredential
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import ApiResponse, Client

Json = dict[str, Any]
SLOW_CALLS, SLOW_SECONDS = 3, 1.0
"""The first calls to the API server are slow, the others are not."""
NAMES = ("a", "b", "c")


class SlowApiServer:
    """A ReplicaSet of one pod for every name; each call moves the clock."""

    def __init__(self) -> None:
        self.time, self._calls = 100.0, 0
        self.evicted: list[float] = []
        """When the API server received each eviction."""

    def clock(self) -> float:
        return self.time

    def _called(self) -> None:
        self._calls += 1
        if self._calls <= SLOW_CALLS:
            self.time += SLOW_SECONDS

    async def answer(self, request: web.Request) -> web.Response:
        self._called()
        last = request.path.rsplit("/", 1)[-1]
        if last == "pods":
            name = request.query["labelSelector"].partition("=")[2]
            owner = {"kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
            pod = {"metadata": {"name": name, "uid": f"pod-{name}", "ownerReferences": [owner]}}
            return web.json_response({"metadata": {}, "items": [{**pod, "status": {"phase": "Running"}}]})
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": last}}}
        return web.json_response({"metadata": {"name": last, "uid": last}, "spec": spec})

    async def send(self, call: ApiRequest, what: str) -> ApiResponse:
        del call, what
        self.evicted.append(self.time)
        self._called()
        return ApiResponse(201, b"{}")


async def _evict_all(server: SlowApiServer, per_minute: int) -> None:
    app = web.Application()
    app.router.add_route("GET", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client = Client(ClusterAccess(f"http://127.0.0.1:{runner.addresses[0][1]}", None, StaticCredential("")))

    async def judge(_: object) -> frozenset[str]:
        return frozenset()

    evictions = Evictions(client, server.send, judge, per_minute=per_minute, clock=server.clock, dry_run=True)
    pods = (entry(name, maker=PodController("ReplicaSet", name, name)) for name in NAMES)
    evictions.offer(one._replace(uid=f"pod-{one.name}") for one in pods)
    try:
        while evictions.left:
            await evictions.step()
            server.time += evictions.rest()
    finally:
        await client.close()
        await runner.cleanup()


def test_slow_answers_never_raise_the_rate_of_evictions() -> None:
    server = SlowApiServer()

    asyncio.run(_evict_all(server, per_minute=20))

    gaps = [later - earlier for earlier, later in zip(server.evicted, server.evicted[1:], strict=False)]
    assert len(server.evicted) == len(NAMES)
    assert all(gap >= 60 / 20 for gap in gaps), gaps
