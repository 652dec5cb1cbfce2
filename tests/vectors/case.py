"""What every family of vectors shares: one review through the real handler, against a cluster in memory."""

from __future__ import annotations

import asyncio
import base64
import copy
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from vestibule.admission import apply
from vestibule.admission.review import DecodedReview
from vestibule.admission.verdict import Verdict
from vestibule.api.settings import schema
from vestibule.httpserver.server import HttpRequest, HttpResponse
from vestibule.injection.policy import Policy, compile_policy
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.webhook.handler import Handler

Json = dict[str, Any]


class Recorder:
    """Keeps what the handler reports."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self.bad: list[int] = []

    def verdict(self, review: DecodedReview, verdict: Verdict, seconds: float) -> None:
        """Keep a verdict."""
        del review, seconds
        self.verdicts.append(verdict)

    def malformed(self, status: int) -> None:
        """Keep a status."""
        self.bad.append(status)


class Answer(NamedTuple):
    """What came back for one pod."""

    response: Json
    verdict: Verdict
    operations: list[Json]
    pod: Json
    """The pod with the patch applied."""
    applied: list[Json]


def review(pod: Json, *, dry_run: bool = False, namespace: str = "team-a", **more: Any) -> bytes:
    """An AdmissionReview as the API server sends it."""
    return json.dumps(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "5c0a1b1e-0000-4000-8000-000000000001",
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "operation": "CREATE",
                "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
                "namespace": namespace,
                "object": pod,
                "dryRun": dry_run,
                **more,
            },
        }
    ).encode()


def post(handler: Handler, body: bytes) -> HttpResponse:
    """One call of the handler, awaited where it must be."""
    answer = handler(HttpRequest("POST", "/mutate", "timeout=5s", body, "application/json", 0.0))
    return answer if isinstance(answer, HttpResponse) else asyncio.run(_await(answer))


async def _await(answer: Any) -> HttpResponse:
    response: HttpResponse = await answer
    return response


def handler_of(cluster: MemoryCluster, settings: schema.Settings) -> tuple[Handler, Recorder]:
    """The handler as the process has it, and what it reports."""
    return handler_with(cluster, compile_policy(settings))


def handler_with(cluster: MemoryCluster, policy: Policy) -> tuple[Handler, Recorder]:
    """The handler with a policy that was compiled already."""
    recorder = Recorder()
    return Handler(lambda: policy, cluster, cluster, cluster, recorder), recorder


def ask(
    pod: Json,
    cluster: MemoryCluster,
    settings: schema.Settings,
    *,
    dry_run: bool = False,
    namespace: str = "team-a",
    **request: Any,
) -> Answer:
    """Send a pod through the handler and apply what comes back."""
    handler, recorder = handler_of(cluster, settings)
    before = len(cluster.applied)
    found = through(handler, recorder, pod, dry_run=dry_run, namespace=namespace, **request)
    return found._replace(applied=cluster.applied[before:])


def through(handler: Handler, recorder: Recorder, pod: Json, **request: Any) -> Answer:
    """Send a pod through this handler and apply what comes back."""
    response = post(handler, review(copy.deepcopy(pod), **request))
    if response.status != 200:
        raise AssertionError(f"HTTP {response.status}: {response.body.decode()}")
    answer = json.loads(response.body)["response"]
    operations = operations_of(answer)
    mutated = copy.deepcopy(pod)
    apply.patch(mutated, operations)
    return Answer(answer, recorder.verdicts[-1], operations, mutated, [])


def operations_of(response: Json) -> list[Json]:
    """The patch of a response; empty when it has none."""
    found: list[Json] = json.loads(base64.b64decode(response["patch"])) if "patch" in response else []
    return found


def cluster_of(objects: list[Json | None], faults: Mapping[str, int] | None = None) -> MemoryCluster:
    """A cluster in memory with the objects that exist and the faults that are asked for."""
    cluster = MemoryCluster([obj for obj in objects if obj is not None])
    for spec, status in (faults or {}).items():
        verb, _, target = spec.partition(" ")
        plural, _, name = target.partition("/")
        cluster.fault(verb, plural, name, status)
    return cluster
