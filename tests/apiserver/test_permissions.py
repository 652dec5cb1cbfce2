"""Granted is used, and used is granted: the rendered roles against the API server's audit log."""

from __future__ import annotations

import base64
import contextlib
import http.client
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.webhook_installation import WebhookInstallation, wait_called
from tests.process.webhook import free_port
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes
from tests.vectors import case

pytestmark = pytest.mark.slow

POOL = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
Json = dict[str, Any]


def granted(installation: WebhookInstallation) -> set[tuple[str, str]]:
    roles = [
        installation.objects["ClusterRole"],
        *([installation.objects["Role"]] if "Role" in installation.objects else []),
    ]
    return {
        (resource, verb)
        for role in roles
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(
    plane: ControlPlane, installation: WebhookInstallation
) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """What our user did, and what it was refused."""
    done: set[tuple[str, str]] = set()
    refused: set[tuple[str, str]] = set()
    for event in plane.audit.events():
        if event["user"]["username"] == installation.user and "objectRef" in event:
            entry = (event["objectRef"]["resource"], event["verb"])
            (refused if event.get("responseStatus", {}).get("code") == 403 else done).add(entry)
    return done, refused


def owned_pods(installation: WebhookInstallation, namespace: str) -> None:
    """A pod of every kind of owner, so that every read happens."""
    admin = installation.plane.admin
    chains = [
        ("ReplicaSet", "apps/v1", "replicasets", "Deployment", "apps/v1", "deployments"),
        ("Job", "batch/v1", "jobs", "CronJob", "batch/v1", "cronjobs"),
        ("StatefulSet", "apps/v1", "statefulsets", "", "", ""),
        ("DaemonSet", "apps/v1", "daemonsets", "", "", ""),
    ]
    template: Json = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "a", "image": "a"}], "restartPolicy": "Always"},
    }
    selector = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    specs: dict[str, Json] = {
        "ReplicaSet": {**selector, "replicas": 0},
        "Deployment": {**selector, "replicas": 0, "paused": True},
        "StatefulSet": {**selector, "replicas": 0, "serviceName": "x"},
        "DaemonSet": selector,
        "Job": {
            "suspend": True,
            "template": {**template, "spec": {**template["spec"], "restartPolicy": "Never"}},
        },
    }
    specs["CronJob"] = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": specs["Job"]}}
    for kind, api, plural, parent, parent_api, parent_plural in chains:
        references: list[Json] = []
        if parent:
            created = admin.create(
                at(parent_plural, namespace, api=parent_api),
                {"metadata": {"name": "up"}, "spec": specs[parent]},
            ).object
            references = [_reference(parent_api, parent, created)]
        owner = admin.create(
            at(plural, namespace, api=api),
            {"metadata": {"name": f"own-{kind.lower()}", "ownerReferences": references}, "spec": specs[kind]},
        ).object
        pod = {
            "metadata": {"generateName": "p-", "ownerReferences": [_reference(api, kind, owner)]},
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        }
        admin.create(at("pods", namespace), pod, dryRun="All").object  # noqa: B018 - raises


def _reference(api: str, kind: str, owner: Json) -> Json:
    meta = owner["metadata"]
    return {"apiVersion": api, "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}


def ask_about_nobody(plane: ControlPlane, installation: WebhookInstallation, port: int) -> None:
    """A review that names what no cache knows: the process has to ask the API server."""
    found = plane.admin.get(installation.configuration).object["webhooks"][0]["clientConfig"]["caBundle"]
    trusting = ssl.create_default_context(cadata=base64.b64decode(found).decode())
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"serviceAccountName": "nobody", "containers": [{"name": "a"}]},
    }
    to = http.client.HTTPSConnection("127.0.0.1", port, context=trusting, timeout=10)
    with contextlib.closing(to):
        body = case.review(pod, namespace="nowhere")
        to.request("POST", "/mutate?timeout=5s", body, {"Content-Type": "application/json"})
        assert to.getresponse().status == 200


def test_every_right_that_is_granted_is_used_and_none_is_missing(
    private_control_plane: Planes, tmp_path: Path
) -> None:
    plane = private_control_plane(controllers=False)
    namespace = plane.namespace("rights")
    installation = WebhookInstallation(
        plane,
        tmp_path,
        "webhook-rights-used",
        gcp={"allowConfigMapWrites": True},
        install={"certificate": "self", "caBundle": ""},
    )
    installation.change_settings(selfCertificate={"names": ["127.0.0.1"]})
    try:
        installation.apply()
        plane.admin.create(at("serviceaccounts", namespace), {"metadata": {"name": "default"}})
        plane.admin.create(at("serviceaccounts", "default"), {"metadata": {"name": "default"}})
        port = free_port()
        installation.register(port)
        installation.start(port=port, own_certificate=True)
        wait_called(installation)
        owned_pods(installation, namespace)
        ask_about_nobody(plane, installation, port)
        gcp = {
            "cwii.dev/gcp-inject": "true",
            "cwii.dev/gcp-audience": POOL,
            "cwii.dev/gcp-delivery": "config-map",
        }
        pod = {
            "metadata": {"name": "g", "annotations": gcp},
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        }
        answer = plane.admin.create(at("pods", namespace), pod)
        assert answer.status == 201, answer.message

        expected = granted(installation)
        deadline = time.monotonic() + 15
        while expected - used(plane, installation)[0] and time.monotonic() < deadline:
            time.sleep(0.2)
        done, refused = used(plane, installation)

        assert refused == set()
        # server-side apply of a new object is a patch that is authorised as create, too
        assert expected - done - {("configmaps", "create")} == set()
        assert done <= expected
    finally:
        installation.close()
