"""Sandboxes and identity policies on a real API server: its own RuntimeClass, LimitRange and quota plugins
run again after us, and its schemas refuse what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.sandbox_installation import (
    INJECTION,
    KATA,
    POLICIES,
    PREFIX,
    RULES,
    configure,
    create,
    eventually,
    installation_of,
    label,
)
from tests.apiserver.webhook_installation import WebhookInstallation, path_of
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
def installation(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebhookInstallation]:
    with installation_of(
        control_plane, tmp_path_factory.mktemp("installation"), "webhook-sandbox"
    ) as created:
        yield created


def test_a_class_brings_overhead_and_scheduling_by_the_api_servers_own_hand(
    installation: WebhookInstallation, namespace: str
) -> None:
    label(installation, namespace, sandboxed="true")
    configure(installation, {"runtimeClassInjection": INJECTION, "annotations": {"defaultVCPUs": 2}})

    pod = eventually(installation, namespace, lambda pod: "runtimeClassName" in pod["spec"])

    assert pod["spec"]["runtimeClassName"] == "kata"
    assert pod["spec"]["overhead"] == {"cpu": "250m", "memory": "350Mi"}
    assert pod["spec"]["nodeSelector"] == {"node-role.kubernetes.io/kata-oc": ""}
    assert {"key": "kata", "operator": "Exists"} in pod["spec"]["tolerations"]
    assert pod["metadata"]["annotations"][f"{PREFIX}default_vcpus"] == "2"
    stored = create(installation, namespace, runtimeClassName="kata-remote")
    assert stored["spec"]["runtimeClassName"] == "kata-remote"


def test_peer_pods_live_with_limit_ranges_and_quotas(
    installation: WebhookInstallation, namespace: str
) -> None:
    admin = installation.plane.admin
    limits = {"type": "Container", "default": {"cpu": "500m", "memory": "256Mi"}, "max": {"cpu": "4"}}
    ranges = {"metadata": {"name": "l"}, "spec": {"limits": [limits]}}
    admin.create(at("limitranges", namespace), ranges).object  # noqa: B018 - raises
    configure(installation, {"runtimeClassInjection": {"enabled": False}})
    asks = {"requests": {"cpu": "3", "memory": "5Gi"}, "limits": {"cpu": "3", "memory": "5Gi"}}
    spec: Json = {
        "runtimeClassName": "kata-remote",
        "containers": [{"name": "app", "image": "a", "resources": asks}, {"name": "b", "image": "a"}],
    }

    pod = eventually(
        installation, namespace, lambda pod: pod["spec"]["containers"][0]["resources"] != asks, **spec
    )

    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "1", "limits.cpu": "1"}}}
    admin.create(at("resourcequotas", namespace), quota).object  # noqa: B018 - raises
    counted = at("resourcequotas", namespace, name="q")
    process.wait("the quota", lambda: bool(admin.get(counted).object.get("status", {}).get("hard")), 20)
    pod = create(installation, namespace, **spec)

    annotations = pod["metadata"]["annotations"]
    assert (annotations[f"{PREFIX}default_vcpus"], annotations[f"{PREFIX}default_memory"]) == ("4", "5376")
    first = pod["spec"]["containers"][0]["resources"]["requests"]
    assert first == {"cpu": "0", "memory": "0", "kata.peerpods.io/vm": "1"}


def test_switched_off_it_stands_aside(installation: WebhookInstallation, namespace: str) -> None:
    label(installation, namespace, sandboxed="true")
    configure(installation, {"runtimeClassInjection": INJECTION})
    eventually(installation, namespace, lambda pod: "runtimeClassName" in pod["spec"])
    configure(installation, {"enabled": False, "runtimeClassInjection": INJECTION})

    pod = eventually(installation, namespace, lambda pod: "runtimeClassName" not in pod["spec"])

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
def test_schemas_refuse_what_is_wrong(
    installation: WebhookInstallation, plural: str, api: str, spec: Json, text: str
) -> None:
    obj = {"apiVersion": api, "kind": KINDS[plural], "metadata": {"name": "wrong"}, "spec": spec}

    answer = installation.plane.admin.create(at(plural, api=api), obj)

    assert answer.status == 422
    assert text in answer.body.decode()


def test_the_webhook_refuses_what_no_schema_can_say(installation: WebhookInstallation) -> None:
    admin = installation.plane.admin
    obj = json.loads(json.dumps(installation.objects["ValidatingWebhookConfiguration"]))
    entry = obj["webhooks"][0]
    entry["clientConfig"] = {
        "url": f"https://127.0.0.1:{installation.replicas[0].port}/validate",
        "caBundle": installation.bundle(),
    }
    entry["failurePolicy"] = "Fail"
    where = path_of(obj)
    admin.apply(where, obj, "test", force=True).object  # noqa: B018 - raises
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
        responses = []

        def refused() -> bool:
            responses.append(admin.create(at("oscwebhookconfigs", api=RULES), wrong, dryRun="All"))
            return responses[-1].status != 201

        process.wait("the registration", refused, 15)
    finally:
        admin.delete(where)

    text = responses[-1].body.decode()
    assert "spec.rules[0].match.namespaces[0]" in text
    assert "LabelFeedback" in text


def test_an_identity_policy_serves_accounts_without_annotations_and_refuses_by_name(
    installation: WebhookInstallation, namespace: str, tmp_path: Path
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
    installation.plane.admin.create(where, policy).object  # noqa: B018 - raises
    asks = {"cwii.dev/az-inject": "true", "cwii.dev/az-client-id": "x", "cwii.dev/az-tenant-id": "y"}

    pod = eventually(installation, namespace, lambda pod: "env" in pod["spec"]["containers"][0])
    obj = {
        "metadata": {"name": "q", "annotations": asks},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    refused = installation.plane.admin.create(at("pods", namespace), obj, dryRun="All")

    env = {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}
    assert env["AWS_ROLE_ARN"] == f"arn:aws:iam::123456789012:role/{namespace}"
    assert refused.status == 403
    assert (
        f"IdentityPolicy p-{namespace}: ServiceAccount {namespace}/default may not ask for az"
        in refused.body.decode()
    )
