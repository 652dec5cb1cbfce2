"""A census of many pods: page by page, and nothing is kept of a namespace that is done."""

from __future__ import annotations

import asyncio
import datetime
from collections import Counter
from typing import Any

from aiohttp import web

from vestibule.api.settings import schema
from vestibule.checks.webhook_configuration import WebhookEntry
from vestibule.diagnose.audit.pod_scan import PodScan
from vestibule.diagnose.audit.summary import AuditSummary
from vestibule.injection.policy import compile_policy
from vestibule.kube.access import ClusterAccess, StaticCredential
from vestibule.kube.client import Client

Json = dict[str, Any]
PAGE = 500
AWS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/app"}


class Many:
    """An API server with so many pods in so many namespaces, each pod of a ReplicaSet of ten; one of a
    hundred asks for an identity."""

    def __init__(self, pods: int, namespaces: int) -> None:
        self.pods, self._each = pods, pods // namespaces
        self.asked: Counter[str] = Counter()
        self.limits: set[str] = set()

    def pod(self, number: int) -> Json:
        namespace, maker = f"n{number // self._each:05}", f"w{number // 10:07}"
        return {
            "metadata": {
                "name": f"{maker}-{number}",
                "namespace": namespace,
                "uid": f"u{number}",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": AWS if number % 100 == 0 else {},
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "ReplicaSet",
                        "name": maker,
                        "uid": maker,
                        "controller": True,
                    }
                ],
            },
            "spec": {"serviceAccountName": "default", "containers": [{"name": "a", "image": "a"}]},
        }

    async def answer(self, request: web.Request) -> web.Response:
        *_, plural, last = request.path.split("/")
        if request.path.endswith("/pods"):
            self.asked["pages"] += 1
            self.limits.add(request.query["limit"])
            first = int(request.query.get("continue", 0))
            after = min(first + PAGE, self.pods)
            token = str(after) if after < self.pods else ""
            items = [self.pod(number) for number in range(first, after)]
            return web.json_response({"metadata": {"continue": token}, "items": items})
        if last == "namespaces":
            return web.json_response({"metadata": {}, "items": []})
        self.asked[plural] += 1
        return web.json_response({"metadata": {"name": last, "namespace": "x", "uid": last}})


async def taken(many: Many) -> tuple[PodScan, AuditSummary, int]:
    """A census of it; and the most that was remembered at the end of a page."""
    app = web.Application()
    app.router.add_route("GET", "/{path:.*}", many.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client = Client(ClusterAccess(f"http://127.0.0.1:{runner.addresses[0][1]}", None, StaticCredential("")))
    summary, most = AuditSummary(), [0]
    now = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    registered = WebhookEntry("v", {"failurePolicy": "Ignore"}, "2025-12-31T00:00:00Z")
    census: PodScan

    def tell(text: str) -> None:
        del text
        most[0] = max(most[0], census.cached_objects)

    policy = compile_policy(schema.Settings())
    census = PodScan(client, policy, registered, now, tell, found=summary.add)
    try:
        tally = await census.take("")
    finally:
        await client.close()
        await runner.cleanup()
    assert (tally.seen, tally.unread) == (many.pods, ())
    return census, summary, most[0]


def test_pods_come_in_pages_and_a_namespace_is_let_go_with_its_last_pod() -> None:
    many = Many(5000, namespaces=50)
    census, summary, most = asyncio.run(taken(many))

    assert many.limits == {str(PAGE)}
    assert many.asked["pages"] == 10
    assert many.asked["replicasets"] == 500  # each workload once
    assert (summary.missed, census.entries) == (50, [])
    # the namespaces, and what stands around the pods of the last one: ten workloads and an account
    assert most <= 50 + 15
