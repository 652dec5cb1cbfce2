"""Annotations of an owner that changed a moment ago count: annotate and restart, replace, scale."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.webhook_installation import WebhookInstallation, wait_called
from tests.rig.client import MERGE, at
from tests.rig.controlplane import ControlPlane
from vestibule.kube.live_cluster import OWNER_SECONDS

Json = dict[str, Any]
APPS = "apps/v1"
TEMPLATE: Json = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "a", "image": "a"}]},
}
RESTARTS = 1000 if os.environ.get("VESTIBULE_ALL") else 250
"""For each mode; `make test-all` runs all of them."""
SPEC: Json = {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}


def role(number: int) -> str:
    return f"arn:aws:iam::123456789012:role/r{number}"


def asks(number: int) -> dict[str, str]:
    return {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": role(number)}


def reference(kind: str, owner: Json) -> Json:
    meta = owner["metadata"]
    return {"apiVersion": APPS, "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}


class OwnersEnvironment:
    """The webhook on the real API server, and workloads whose controllers are played here: what a rollout
    does, without its pauses."""

    def __init__(self, installation: WebhookInstallation, namespace: str) -> None:
        self.admin, self.namespace = installation.plane.admin, namespace

    def create(self, plural: str, name: str, **fields: Any) -> Json:
        meta = {"name": name, **fields}
        body = {"metadata": meta, "spec": SPEC}
        if plural == "statefulsets":
            body["spec"] = {**SPEC, "serviceName": "x"}
        if plural == "deployments":  # the real controller must not clean up behind the played one
            body["spec"] = {**SPEC, "revisionHistoryLimit": 100_000}
        return self.admin.create(at(plural, self.namespace, api=APPS), body).object

    def annotate(self, plural: str, name: str, number: int) -> None:
        change = {"metadata": {"annotations": asks(number)}}
        answer = self.admin.patch(at(plural, self.namespace, name=name, api=APPS), change, MERGE)
        assert answer.status == 200, answer.message

    def replica_set(self, deployment: Json) -> Json:
        name = f"rs-{uuid.uuid4().hex[:10]}"
        return self.create(
            "replicasets", name, ownerReferences=[reference("Deployment", deployment)], labels={"app": "x"}
        )

    def pods_role(self, kind: str, owner: Json) -> str:
        """The role that a pod of this owner gets."""
        pod = {
            "metadata": {"generateName": "p-", "ownerReferences": [reference(kind, owner)]},
            "spec": TEMPLATE["spec"],
        }
        created = self.admin.create(at("pods", self.namespace), pod, dryRun="All").object
        env = created["spec"]["containers"][0].get("env", [])
        return next((one["value"] for one in env if one["name"] == "AWS_ROLE_ARN"), "none")


@pytest.fixture(params=["better", "strict"])
def environment(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[OwnersEnvironment]:
    installation = WebhookInstallation(
        control_plane, tmp_path, f"webhook-owners-{request.param}", mode=request.param
    )
    try:
        installation.apply()
        installation.register(installation.start().port, failurePolicy="Fail")
        wait_called(installation)
        yield OwnersEnvironment(installation, namespace)
    finally:
        installation.close()


@pytest.mark.slow
def test_annotate_and_restart_again_and_again_and_no_pod_gets_the_old_role(
    environment: OwnersEnvironment,
) -> None:
    deployment = environment.create("deployments", "web", annotations=asks(0))
    stale: list[tuple[int, str]] = []
    before = environment.replica_set(deployment)
    for number in range(1, RESTARTS + 1):
        environment.pods_role("ReplicaSet", before)  # so that the Deployment is cached as it is
        environment.annotate("deployments", "web", number)
        after = environment.replica_set(deployment)
        got = environment.pods_role("ReplicaSet", after)
        if got != role(number):
            stale.append((number, got))
        # few ReplicaSets keep the real controller quick
        old = at("replicasets", environment.namespace, name=before["metadata"]["name"], api=APPS)
        assert environment.admin.delete(old).status == 200
        before = after

    assert stale == []


@pytest.mark.slow
def test_an_owner_that_was_replaced_under_its_name_is_read_anew(environment: OwnersEnvironment) -> None:
    for number in range(20):
        owner = environment.create("statefulsets", "db", annotations=asks(number))

        assert environment.pods_role("StatefulSet", owner) == role(number)
        gone = environment.admin.delete(at("statefulsets", environment.namespace, name="db", api=APPS))
        assert gone.status == 200


@pytest.mark.slow
def test_annotate_and_scale_a_known_replica_set_is_seen_within_a_second(
    environment: OwnersEnvironment,
) -> None:
    deployment = environment.create("deployments", "web", annotations=asks(0))
    known = environment.replica_set(deployment)
    for number in range(1, 6):
        environment.pods_role("ReplicaSet", known)
        environment.annotate("deployments", "web", number)
        annotated = time.monotonic()
        while environment.pods_role("ReplicaSet", known) != role(number):
            assert time.monotonic() - annotated <= OWNER_SECONDS + 0.5, "0.5 s for the calls themselves"
