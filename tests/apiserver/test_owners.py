"""Annotations of an owner that changed a moment ago count: annotate and restart, replace, scale."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.hall import Hall, wait_called
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


class Stand:
    """The webhook on the real API server, and workloads whose controllers are played here: what a rollout
    does, without its pauses."""

    def __init__(self, hall: Hall, namespace: str) -> None:
        self.admin, self.namespace = hall.plane.admin, namespace

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
def stand(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Stand]:
    hall = Hall(control_plane, tmp_path, f"hall-owners-{request.param}", mode=request.param)
    try:
        hall.apply()
        hall.register(hall.start().port, failurePolicy="Fail")
        wait_called(hall)
        yield Stand(hall, namespace)
    finally:
        hall.close()


@pytest.mark.slow
def test_annotate_and_restart_again_and_again_and_no_pod_gets_the_old_role(stand: Stand) -> None:
    deployment = stand.create("deployments", "web", annotations=asks(0))
    stale: list[tuple[int, str]] = []
    before = stand.replica_set(deployment)
    for number in range(1, RESTARTS + 1):
        stand.pods_role("ReplicaSet", before)  # so that the Deployment is cached as it is
        stand.annotate("deployments", "web", number)
        after = stand.replica_set(deployment)
        got = stand.pods_role("ReplicaSet", after)
        if got != role(number):
            stale.append((number, got))
        # few ReplicaSets keep the real controller quick
        old = at("replicasets", stand.namespace, name=before["metadata"]["name"], api=APPS)
        assert stand.admin.delete(old).status == 200
        before = after

    assert stale == []


@pytest.mark.slow
def test_an_owner_that_was_replaced_under_its_name_is_read_anew(stand: Stand) -> None:
    for number in range(20):
        owner = stand.create("statefulsets", "db", annotations=asks(number))

        assert stand.pods_role("StatefulSet", owner) == role(number)
        gone = stand.admin.delete(at("statefulsets", stand.namespace, name="db", api=APPS))
        assert gone.status == 200


@pytest.mark.slow
def test_annotate_and_scale_a_known_replica_set_is_seen_within_a_second(stand: Stand) -> None:
    deployment = stand.create("deployments", "web", annotations=asks(0))
    known = stand.replica_set(deployment)
    for number in range(1, 6):
        stand.pods_role("ReplicaSet", known)
        stand.annotate("deployments", "web", number)
        annotated = time.monotonic()
        while stand.pods_role("ReplicaSet", known) != role(number):
            assert time.monotonic() - annotated <= OWNER_SECONDS + 0.5, "0.5 s for the calls themselves"
