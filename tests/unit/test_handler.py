"""The handler: what is answered, what is raised, what is written, and what is told to the observer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.vectors import case
from vestibule import errors
from vestibule.api.settings import schema
from vestibule.httpserver.server import HttpRequest, HttpResponse
from vestibule.injection.policy import compile_policy
from vestibule.webhook import canary
from vestibule.webhook.handler import Handler

Json = dict[str, Any]
AWS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/app"}
POOL = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
GCP = {
    "cwii.dev/gcp-inject": "true",
    "cwii.dev/gcp-audience": POOL,
    "cwii.dev/gcp-delivery": "config-map",
}
POD: Json = {
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "team-a"},
    "spec": {"serviceAccountName": "app", "containers": [{"name": "a"}]},
}
ACCOUNT: Json = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "app", "namespace": "team-a", "annotations": AWS},
}


def settings(**data: Any) -> schema.Settings:
    return schema.parse(data, "test")


def raw(method: str = "POST", content_type: str = "application/json", body: bytes = b"") -> HttpRequest:
    return HttpRequest(method, "/mutate", "", body, content_type, 0.0)


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD"])
def test_only_post_is_taken(method: str) -> None:
    handler, _ = case.handler_of(case.cluster_of([]), settings())

    response = handler(raw(method))

    assert isinstance(response, HttpResponse)
    assert response.status == 405


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonevil",
        "application/json-patch+json",
    ],
)
def test_only_json_is_taken(content_type: str) -> None:
    handler, recorder = case.handler_of(case.cluster_of([]), settings())

    response = handler(raw(content_type=content_type))

    assert isinstance(response, HttpResponse)
    assert response.status == 415
    assert recorder.bad == [415]


def test_a_charset_in_the_content_type_is_fine() -> None:
    handler, _ = case.handler_of(case.cluster_of([]), settings())

    response = handler(raw(content_type="application/json; charset=utf-8", body=case.review(POD)))

    assert isinstance(response, HttpResponse)
    assert response.status == 200


def test_a_failed_lookup_is_a_fault_and_never_no_annotations() -> None:
    cluster = case.cluster_of([ACCOUNT], {"GET serviceaccounts/app": 500})
    handler, _ = case.handler_of(cluster, settings())

    with pytest.raises(errors.LookupFailed, match="ServiceAccount team-a/app"):
        case.post(handler, case.review(POD))


def test_a_forbidden_lookup_is_a_fault_too() -> None:
    cluster = case.cluster_of([ACCOUNT], {"GET namespaces/team-a": 403})
    handler, _ = case.handler_of(cluster, settings())

    with pytest.raises(errors.Forbidden):
        case.post(handler, case.review(POD))


def test_an_object_the_cache_does_not_know_is_read_live() -> None:
    cluster = case.cluster_of([ACCOUNT])
    seen: list[str] = []

    class Forgetful:
        synced = True

        def peek(self, kind: Any, namespace: str, name: str, uid: str = "") -> Any:
            from vestibule.kube.ports import UNKNOWN

            return UNKNOWN

        def subscribe(self, callback: Any) -> Any:
            return lambda: None

    class Live:
        async def get(self, kind: Any, namespace: str, name: str) -> Any:
            seen.append(f"{kind.kind} {name}")
            return await cluster.get(kind, namespace, name)

    recorder = case.Recorder()
    policy = compile_policy(settings())
    handler = Handler(lambda: policy, Forgetful(), Live(), None, recorder)

    case.post(handler, case.review(POD))

    assert recorder.verdicts[-1].providers == ("aws",)
    assert seen == ["ServiceAccount app", "Namespace team-a"]


def test_a_config_map_is_written_before_the_answer_and_not_on_a_dry_run() -> None:
    pod = {**POD, "metadata": {**POD["metadata"], "annotations": GCP}}
    cluster = case.cluster_of([])
    handler, _ = case.handler_of(cluster, settings(gcp={"allowConfigMapWrites": True}))

    case.post(handler, case.review(pod, dry_run=True))
    assert cluster.applied == []

    case.post(handler, case.review(pod))
    assert [obj["metadata"]["namespace"] for obj in cluster.applied] == ["team-a"]


@pytest.mark.parametrize(
    ("status", "error"), [(409, errors.Conflict), (403, errors.Forbidden), (503, errors.Unavailable)]
)
def test_a_config_map_that_cannot_be_written_is_a_fault(status: int, error: type[Exception]) -> None:
    pod = {**POD, "metadata": {**POD["metadata"], "annotations": GCP}}
    cluster = case.cluster_of([], {"PATCH configmaps/*": status})
    handler, _ = case.handler_of(cluster, settings(gcp={"allowConfigMapWrites": True}))

    with pytest.raises(error):
        case.post(handler, case.review(pod))


def test_the_policy_is_taken_once_per_request() -> None:
    policies = [compile_policy(settings()), compile_policy(settings(aws={"enabled": False}))]
    cluster = case.cluster_of([ACCOUNT])
    recorder = case.Recorder()
    handler = Handler(lambda: policies.pop(0), cluster, cluster, cluster, recorder)

    case.post(handler, case.review(POD))
    case.post(handler, case.review(POD))

    assert [verdict.providers for verdict in recorder.verdicts] == [("aws",), ()]


def test_answers_of_many_tasks_do_not_mix() -> None:
    accounts = [
        {**ACCOUNT, "metadata": {**ACCOUNT["metadata"], "name": f"app-{n}", "annotations": {
            **AWS, "cwii.dev/aws-role-arn": f"arn:aws:iam::123456789012:role/{n}"}}}
        for n in range(50)
    ]  # fmt: skip
    cluster = case.cluster_of([*accounts], {"GET namespaces/nowhere": 500})
    handler, _ = case.handler_of(cluster, settings())

    async def one(number: int) -> str:
        pod = {**POD, "spec": {**POD["spec"], "serviceAccountName": f"app-{number}"}}
        answer = handler.answer(case.review(pod))
        body = answer if isinstance(answer, bytes) else await answer
        return str(json.loads(body)["response"]["patch"])

    async def everybody() -> list[str]:
        return await asyncio.gather(*(one(number) for number in range(50)))

    assert len(set(asyncio.run(everybody()))) == 50


MODES = ("better", "strict")
PROVIDER = "projects/1/locations/global/workloadIdentityPools/p/providers/c"
NOBODY = {"name": "nobody", "match": {}, "limits": {"clouds": []}}
SETTINGS: list[Json] = [
    {},
    {"mode": "strict"},
    {"aws": {"enabled": False}},
    {"required": True},
    {name: {"enabled": False} for name in ("aws", "az", "gcp")},
    {"policies": [NOBODY]},
    *({"mode": mode, "vocabularies": [name]} for name in ("azwi", "eks", "wif", "gke") for mode in MODES),
    *({"mode": mode, "vocabularies": ["gke", "wif", "eks", "azwi", "cwii"]} for mode in MODES),
    {"vocabularies": ["gke"], "wif": {"provider": PROVIDER}},
    {
        "vocabularies": ["eks", "wif"],
        "eks": {"annotationPrefix": "a.example/"},
        "wif": {"annotationPrefix": "b.example", "injectionMode": "gcloud"},
    },
    {"vocabularies": ["azwi"], "azwi": {"layout": "1.6.1", "cloud": "nowhere"}},
    {"vocabularies": ["azwi"], "onInvalid": "refuse", "policies": [NOBODY]},
]


@pytest.mark.parametrize("data", SETTINGS)
def test_the_canary_is_mutated_under_every_setting(data: Json) -> None:
    probe, policy = canary.Canary(), compile_policy(settings(**data))

    assert [probe.problem(policy), probe.problem(policy)] == ["", ""]


def test_a_policy_that_lets_nobody_in_is_in_force() -> None:
    """So the canary's silence about it is not for lack of one."""
    assert compile_policy(settings(policies=[NOBODY])).central
