"""The auditor's judgement over every conformance case: a pod that was served has nothing against it, and the
same pod unserved is found. Then the cases that no vector has."""

from __future__ import annotations

import copy
import datetime
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.vectors import aws_gcp, azwi, case, cwii, run
from vestibule import errors
from vestibule.admission import review as reviews
from vestibule.api.settings import schema
from vestibule.checks import pod_report, running_pods
from vestibule.checks.running_pods import PodDrift
from vestibule.checks.webhook_configuration import WebhookEntry
from vestibule.injection import identity_stage, lookups, pipeline
from vestibule.injection.policy import compile_policy
from vestibule.kube.memory_cluster import MemoryCluster

Json = dict[str, Any]


class Scene(NamedTuple):
    """A pod and what stands around it."""

    pod: Json
    cluster: MemoryCluster
    settings: schema.Settings
    namespace: str


def audit(scene: Scene, pod: Json, written: Json | None = None) -> list[PodDrift]:
    """All differences of a pod that runs."""
    policy = compile_policy(scene.settings)
    live = {**pod, "metadata": {"namespace": scene.namespace, **pod["metadata"]}}
    request = reviews.decode(case.review(running_pods.as_created(live), namespace=scene.namespace)).request
    assert request.object is not None
    early = pipeline.early(request, policy)
    if early is not None:
        return [] if early.allowed else [PodDrift("refused", (), early.message)]
    facts = lookups.collect(request, request.object, policy.rules, scene.cluster.peek)
    prepared = policy.prepare(facts.annotations, policy.subject(request.object, facts))
    verdict = identity_stage.run(request.object, facts, policy)
    operations = json.loads(verdict.patch) if verdict.patch else []
    return list(running_pods.drift(live, verdict, operations, prepared, policy.settings, written))


def _cwii(vector: Json) -> Scene:
    objects = [vector.get("namespace"), vector.get("serviceAccount"), *vector.get("owners", [])]
    expected = cwii.settings(vector.get("config", {}))
    return Scene(vector["pod"], case.cluster_of(objects), expected, "team-a")


def _azwi(vector: Json) -> Scene:
    objects = [
        {**obj, "kind": kind, "apiVersion": "v1"}
        for kind in ("Namespace", "ServiceAccount")
        if (obj := vector[kind[0].lower() + kind[1:]])
    ] + vector.get("owners", [])
    pod = {"apiVersion": "v1", "kind": "Pod", **vector["pod"]}
    return Scene(pod, MemoryCluster(objects), azwi.settings(vector["config"]), "ns1")


def _aws_gcp(vector: Json) -> Scene:
    objects = [vector["serviceAccount"]] if vector["serviceAccount"] else []
    cluster = MemoryCluster([*objects, *vector.get("objects", [])])
    return Scene(vector["pod"], cluster, aws_gcp.settings(vector), vector["pod"]["metadata"]["namespace"])


SCENES = {"cwii": _cwii, "azwi": _azwi, "aws_gcp": _aws_gcp}


def scenes() -> Iterator[Any]:
    """Every case that a pod can come out of."""
    for family, make in SCENES.items():
        for file in sorted(run.HERE.glob(f"{family}*.json")):
            for vector in run.load(file):
                if vector.get("faults") or not isinstance(vector.get("pod"), dict):
                    continue
                if vector["expect"].get("upstream_result") or "body" in vector.get("request", {}):
                    continue
                try:
                    yield pytest.param(make(vector), id=f"{family}-{vector['name']}")
                except errors.InvalidSettings:
                    continue  # a process that would not start


@pytest.mark.parametrize("scene", list(scenes()))
def test_what_was_served_is_in_order_and_what_was_not_is_found(scene: Scene) -> None:
    answer = case.ask(scene.pod, scene.cluster, scene.settings, dry_run=True, namespace=scene.namespace)
    changed = [one for one in answer.operations if one["path"].startswith("/spec/")]
    author = copy.deepcopy(scene.pod["spec"])

    before = {one.state for one in audit(scene, scene.pod, author)}
    after = {one.state for one in audit(scene, answer.pod, author)}

    if not answer.response["allowed"]:
        assert before == {"refused"}
        return
    assert bool(before & {"missing", "partial", "stale"}) == bool(changed)
    assert after <= {"unserved"}


def test_there_are_many_cases() -> None:
    assert len(list(scenes())) > 250


# ── one by one ─────────────────────────────────────────────────────────────────────────────────────────────

ARN = "arn:aws:iam::123456789012:role/app"
ACCOUNT = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {
        "name": "app",
        "namespace": "team-a",
        "annotations": {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ARN},
    },
}
POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "namespace": "team-a"},
    "spec": {
        "serviceAccountName": "app",
        "initContainers": [{"name": "init", "image": "a"}],
        "containers": [{"name": "app", "image": "a"}],
    },
}


def scene(**data: Any) -> Scene:
    return Scene(POD, MemoryCluster([ACCOUNT]), schema.parse(data, "test"), "team-a")


def served(**data: Any) -> Json:
    created = scene(**data)
    return case.ask(created.pod, created.cluster, created.settings, namespace="team-a").pod


def test_a_container_that_came_later_lacks_it() -> None:
    pod = served()
    pod["spec"]["containers"].append({"name": "later", "image": "b"})

    (found,) = audit(scene(), pod)

    assert found.state == "partial"
    assert found.text == (
        "container later lacks /var/run/secrets/cwii.dev/aws, AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE"
    )


def test_an_init_container_that_came_later_has_run_already() -> None:
    pod = served()
    pod["spec"]["initContainers"].append({"name": "later", "image": "b"})

    (found,) = audit(scene(), pod)

    assert found.state == "stale"


def test_a_native_sidecar_that_came_later_runs() -> None:
    pod = served()
    pod["spec"]["initContainers"].append({"name": "later", "image": "b", "restartPolicy": "Always"})

    (found,) = audit(scene(), pod)

    assert found.state == "partial"


def test_another_audience_is_another_token() -> None:
    pod = served(aws={"defaultAudience": "sts.amazonaws.com.cn"})

    (found,) = audit(scene(), pod)

    assert (found.state, found.clouds) == ("stale", ("aws",))
    assert (
        found.text == "volume cwii-aws-token: audience is 'sts.amazonaws.com.cn', today 'sts.amazonaws.com'"
    )


def test_a_token_that_lives_longer_is_no_difference() -> None:
    assert audit(scene(), served(tokenExpirationSeconds=7200)) == []


def test_what_the_author_wrote_is_no_injection() -> None:
    pod = served()
    pod["spec"]["containers"][0]["env"][0]["value"] = f"{ARN}-own"
    written = copy.deepcopy(POD["spec"])
    written["containers"][0]["env"] = [{"name": "AWS_ROLE_ARN", "value": f"{ARN}-own"}]

    assert [one.state for one in audit(scene(), pod)] == ["stale"]
    assert audit(scene(), pod, written) == []


def test_a_token_volume_of_the_authors_own_is_no_injection() -> None:
    pod = copy.deepcopy(POD)
    projected = {"sources": [{"serviceAccountToken": {"path": "token", "audience": "x"}}]}
    pod["spec"]["volumes"] = [{"name": "cwii-az-token", "projected": projected}]
    alone = Scene(pod, MemoryCluster(), schema.Settings(), "team-a")

    assert [one.text for one in audit(alone, pod)] == [
        "has the token volume cwii-az-token, which it would not get today"
    ]
    assert audit(alone, pod, pod["spec"]) == []


def test_the_name_that_the_api_server_draws_is_not_there_yet() -> None:
    def owned(kind: str) -> Json:
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": "1", "controller": True}
        return {
            "metadata": {"name": "web-x", "generateName": "web-", "ownerReferences": [owner], "uid": "2"},
            "spec": {},
            "status": {},
        }

    assert "name" not in running_pods.as_created(owned("ReplicaSet"))["metadata"]
    assert running_pods.as_created(owned("StatefulSet"))["metadata"]["name"] == "web-x"
    assert running_pods.as_created({"metadata": {"name": "a"}, "spec": {}})["metadata"] == {"name": "a"}


def test_pods_that_are_over_are_left_alone() -> None:
    def pod(phase: str = "Running", **meta: Any) -> Json:
        return {"metadata": meta, "status": {"phase": phase}}

    assert running_pods.alive(pod())
    assert running_pods.alive(pod("Pending"))
    assert not running_pods.alive(pod("Succeeded"))
    assert not running_pods.alive(pod("Failed"))
    assert not running_pods.alive(pod(deletionTimestamp="now"))
    assert not running_pods.alive(pod(annotations={"kubernetes.io/config.mirror": "x"}))


def test_the_author_of_a_pod_alone_is_known_by_what_was_applied() -> None:
    applied = json.dumps({"spec": {"containers": []}})
    pod = {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied}}}

    assert running_pods.template(None, pod) == {"containers": []}
    assert running_pods.template(None, {"metadata": {}}) is None
    assert running_pods.template({"spec": {"template": {"spec": {"a": 1}}}}, {"metadata": {}}) == {"a": 1}


# ── what people are told ───────────────────────────────────────────────────────────────────────────────────

NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
MISSING = PodDrift("missing", ("aws",), "has no aws identity")


def entry(
    difference: PodDrift = MISSING,
    owner: tuple[str, str] = ("", ""),
    created: str = "2026-01-01T00:00:00Z",
    **hook: Any,
) -> pod_report.PodEntry:
    pod = {"metadata": {"namespace": "a", "name": "p", "creationTimestamp": created}}
    registered = WebhookEntry("vestibule", hook, "2025-12-31T00:00:00Z")
    return pod_report.entry(pod, difference, owner, registered, {"kubernetes.io/metadata.name": "a"}, NOW)


def test_the_reason_is_the_nearest_one() -> None:
    elsewhere: Json = {"namespaceSelector": {"matchLabels": {"team": "b"}}}
    labelled: Json = {"objectSelector": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}}

    assert entry(failurePolicy="Ignore").reason.startswith("created while no webhook answered")
    assert entry(failurePolicy="Fail").reason == "annotations were added after it was created"
    assert "namespaceSelector of" in entry(**elsewhere).reason
    assert "objectSelector of" in entry(**labelled).reason
    assert entry(created="2025-12-30T00:00:00Z").reason.startswith("created before MutatingWebhook")
    assert entry(PodDrift("stale", (), "x")).reason.startswith("annotations, settings or policies")
    assert (
        pod_report.entry(
            {"metadata": {"namespace": "a", "name": "p"}}, MISSING, ("", ""), None, {}, NOW
        ).reason
        == "there is no webhook configuration"
    )


def test_the_advice_is_a_command() -> None:
    assert entry(owner=("StatefulSet", "db")).advice == "kubectl -n a rollout restart statefulset/db"
    assert entry(owner=("Job", "j")).advice == "kubectl -n a delete pod p; its controller recreates it"
    assert entry().advice == "kubectl -n a delete pod p and create it again"
    assert entry(PodDrift("refused", (), "x")).advice == "vestibule explain shows what to fix"
    assert entry().age == 86_400


@pytest.mark.parametrize(("whole", "ids"), [(False, ["pods.unselected"]), (True, [])])
def test_pods_that_the_webhook_configuration_leaves_out_count_where_annotations_alone_ask(
    whole: bool, ids: list[str]
) -> None:
    left_out = entry(namespaceSelector={"matchLabels": {"team": "b"}})

    checks = list(
        pod_report.judge(pod_report.PodCounts(1, 1), [left_out], "all namespaces", selectors_decide=whole)
    )

    assert [one.id for one in checks if one.status == "warn"] == ids
    assert [one.id for one in checks if one.status == "fail"] == []


def test_what_could_not_be_decided_is_reported() -> None:
    checks = list(
        pod_report.judge(
            pod_report.PodCounts(2, 0, ("Pod a/p: no",)), [], "all namespaces", selectors_decide=False
        )
    )

    assert [(one.id, one.status) for one in checks] == [("pods.stale", "ok"), ("pods.unread", "skipped")]
