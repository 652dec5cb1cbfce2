"""Sandboxes and identity policies on a real API server: its own RuntimeClass, LimitRange and quota plugins
run again after us, and its schemas refuse what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.hall import Hall, path_of
from tests.apiserver.sandboxed import (
    INJECTION,
    KATA,
    POLICIES,
    PREFIX,
    RULES,
    configure,
    create,
    eventually,
    hall_of,
    label,
)
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
KINDS = {
    "kataconfigs": "KataConfig",
    "oscwebhookconfigs": "OSCWebhookConfig",
    "identitypolicies": "IdentityPolicy",
}


@pytest.fixture(scope="module")
def hall(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    with hall_of(control_plane, tmp_path_factory.mktemp("hall"), "hall-sandbox") as made:
        yield made


def test_a_class_brings_overhead_and_scheduling_by_the_api_servers_own_hand(
    hall: Hall, namespace: str
) -> None:
    label(hall, namespace, sandboxed="true")
    configure(hall, {"runtimeClassInjection": INJECTION, "annotations": {"defaultVCPUs": 2}})

    pod = eventually(hall, namespace, lambda pod: "runtimeClassName" in pod["spec"])

    assert pod["spec"]["runtimeClassName"] == "kata"
    assert pod["spec"]["overhead"] == {"cpu": "250m", "memory": "350Mi"}
    assert pod["spec"]["nodeSelector"] == {"node-role.kubernetes.io/kata-oc": ""}
    assert {"key": "kata", "operator": "Exists"} in pod["spec"]["tolerations"]
    assert pod["metadata"]["annotations"][f"{PREFIX}default_vcpus"] == "2"
    kept = create(hall, namespace, runtimeClassName="kata-remote")
    assert kept["spec"]["runtimeClassName"] == "kata-remote"


def test_peer_pods_live_with_limit_ranges_and_quotas(hall: Hall, namespace: str) -> None:
    admin = hall.plane.admin
    limits = {"type": "Container", "default": {"cpu": "500m", "memory": "256Mi"}, "max": {"cpu": "4"}}
    ranges = {"metadata": {"name": "l"}, "spec": {"limits": [limits]}}
    admin.create(at("limitranges", namespace), ranges).object  # noqa: B018 - raises
    configure(hall, {"runtimeClassInjection": {"enabled": False}})
    asks = {"requests": {"cpu": "3", "memory": "5Gi"}, "limits": {"cpu": "3", "memory": "5Gi"}}
    spec: Json = {
        "runtimeClassName": "kata-remote",
        "containers": [{"name": "app", "image": "a", "resources": asks}, {"name": "b", "image": "a"}],
    }

    pod = eventually(hall, namespace, lambda pod: pod["spec"]["containers"][0]["resources"] != asks, **spec)

    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "1", "limits.cpu": "1"}}}
    admin.create(at("resourcequotas", namespace), quota).object  # noqa: B018 - raises
    counted = at("resourcequotas", namespace, name="q")
    process.wait("the quota", lambda: bool(admin.get(counted).object.get("status", {}).get("hard")), 20)
    pod = create(hall, namespace, **spec)

    annotations = pod["metadata"]["annotations"]
    assert (annotations[f"{PREFIX}default_vcpus"], annotations[f"{PREFIX}default_memory"]) == ("4", "5376")
    first = pod["spec"]["containers"][0]["resources"]["requests"]
    assert first == {"cpu": "0", "memory": "0", "kata.peerpods.io/vm": "1"}


def test_switched_off_it_stands_aside(hall: Hall, namespace: str) -> None:
    label(hall, namespace, sandboxed="true")
    configure(hall, {"runtimeClassInjection": INJECTION})
    eventually(hall, namespace, lambda pod: "runtimeClassName" in pod["spec"])
    configure(hall, {"enabled": False, "runtimeClassInjection": INJECTION})

    pod = eventually(hall, namespace, lambda pod: "runtimeClassName" not in pod["spec"])

    assert "overhead" not in pod["spec"]


@pytest.mark.parametrize(
    ("plural", "api", "spec", "text"),
    [
        (
            "kataconfigs",
            KATA,
            {"checkNodeEligibility": False, "webhook": {"annotations": {"memoryOverheadMB": 0}}},
            "memoryOverheadMB",
        ),
        (
            "kataconfigs",
            KATA,
            {"checkNodeEligibility": False, "webhook": {"failurePolicy": "Never"}},
            "failurePolicy",
        ),
        ("oscwebhookconfigs", RULES, {"rules": [{"name": "a", "mutate": {}}]}, "changes nothing"),
        (
            "oscwebhookconfigs",
            RULES,
            {"rules": [{"name": "a", "mutate": {"runtimeClassName": "kata"}}] * 2},
            "Duplicate",
        ),
        ("identitypolicies", POLICIES, {"priority": "high"}, "priority"),
        ("identitypolicies", POLICIES, {"identities": {"aws": {}}}, "roleArn"),
    ],
)
def test_schemas_refuse_what_is_wrong(hall: Hall, plural: str, api: str, spec: Json, text: str) -> None:
    thing = {"apiVersion": api, "kind": KINDS[plural], "metadata": {"name": "wrong"}, "spec": spec}

    answer = hall.plane.admin.create(at(plural, api=api), thing)

    assert answer.status == 422
    assert text in answer.body.decode()


def test_the_webhook_refuses_what_no_schema_can_say(hall: Hall) -> None:
    admin = hall.plane.admin
    thing = json.loads(json.dumps(hall.objects["ValidatingWebhookConfiguration"]))
    entry = thing["webhooks"][0]
    entry["clientConfig"] = {
        "url": f"https://127.0.0.1:{hall.replicas[0].port}/validate",
        "caBundle": hall.bundle(),
    }
    entry["failurePolicy"] = "Fail"
    where = path_of(thing)
    admin.apply(where, thing, "test", force=True).object  # noqa: B018 - raises
    rules = [
        {"name": "a", "match": {"namespaces": ["Team!"]}, "mutate": {"labels": {"x": "1"}}},
        {
            "name": "b",
            "match": {"podSelector": {"matchLabels": {"x": "1"}}},
            "mutate": {"runtimeClassName": "kata"},
        },
    ]
    wrong = {
        "apiVersion": RULES,
        "kind": "OSCWebhookConfig",
        "metadata": {"name": "wrong"},
        "spec": {"rules": rules},
    }
    try:
        answers = []

        def refused() -> bool:
            answers.append(admin.create(at("oscwebhookconfigs", api=RULES), wrong, dryRun="All"))
            return answers[-1].status != 201

        process.wait("the registration", refused, 15)
    finally:
        admin.delete(where)

    text = answers[-1].body.decode()
    assert "spec.rules[0].match.namespaces[0]" in text
    assert "LabelFeedback" in text


def test_an_identity_policy_serves_accounts_without_annotations_and_refuses_by_name(
    hall: Hall, namespace: str, tmp_path: Path
) -> None:
    spec = {
        "match": {"namespaces": [namespace]},
        "identities": {"aws": {"roleArn": "arn:aws:iam::123456789012:role/{namespace}"}},
        "limits": {"clouds": ["aws"]},
    }
    where = at("identitypolicies", api=POLICIES)
    policy = {
        "apiVersion": POLICIES,
        "kind": "IdentityPolicy",
        "metadata": {"name": f"p-{namespace}"},
        "spec": spec,
    }
    hall.plane.admin.create(where, policy).object  # noqa: B018 - raises
    asks = {"cwii.dev/az-inject": "true", "cwii.dev/az-client-id": "x", "cwii.dev/az-tenant-id": "y"}

    pod = eventually(hall, namespace, lambda pod: "env" in pod["spec"]["containers"][0])
    thing = {
        "metadata": {"name": "q", "annotations": asks},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    refused = hall.plane.admin.create(at("pods", namespace), thing, dryRun="All")

    env = {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}
    assert env["AWS_ROLE_ARN"] == f"arn:aws:iam::123456789012:role/{namespace}"
    assert refused.status == 403
    assert (
        f"IdentityPolicy p-{namespace}: ServiceAccount {namespace}/default may not ask for az"
        in refused.body.decode()
    )
