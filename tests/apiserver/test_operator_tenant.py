"""A tenant against the operator of installations and of the published issuer: ``edit`` in one namespace and
our kinds there.

They ask for kinds that are not theirs, and put objects with the names, labels and field manager of ours into
their own namespace.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.certificates_process import token
from tests.apiserver.operator_installation import API, OWNER, OperatorInstallation, operator_installed
from tests.apiserver.tenant import Listener, Tenant, tenant
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
MANAGER = "vestibule-operator"


@pytest.fixture
def attacker(control_plane: ControlPlane) -> Iterator[Tenant]:
    created = tenant(control_plane)
    yield created
    control_plane.admin.delete(at("namespaces", name=created.namespace))


@pytest.fixture
def operator(control_plane: ControlPlane, tmp_path: Path) -> Iterator[OperatorInstallation]:
    with operator_installed(control_plane, tmp_path) as created:
        yield created


def test_a_tenant_gets_nothing_from_the_operator_of_installations(
    control_plane: ControlPlane, operator: OperatorInstallation, attacker: Tenant
) -> None:
    client, name, mine = attacker.client, operator.name, attacker.namespace
    # kinds without a namespace are an administrator's, whatever a role says in a namespace
    for plural, kind in (("vestibulewebhooks", "VestibuleWebhook"), ("publishedissuers", "PublishedIssuer")):
        obj = {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": {}}
        assert client.create(at(plural, api=API), obj).status == 403
        assert client.apply(at(plural, name=name, api=API), obj, MANAGER).status == 403
        assert client.delete(at(plural, name=name, api=API)).status == 403
    # objects that look like ours, in their own namespace
    meta = {"name": name, "namespace": mine, "labels": {OWNER: name}}
    labels = {"app.kubernetes.io/name": "vestibule", "app.kubernetes.io/instance": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "webhook", "image": "evil"}]},
    }
    forged: dict[str, Json] = {
        at("secrets", mine, f"{name}-tls"): {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {**meta, "name": f"{name}-tls"},
            "data": {"tls.crt": "AA==", "tls.key": "AA==", "ca.crt": "AA=="},
        },
        at("services", mine, name): {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"ports": [{"name": "https", "port": 443}]},
        },
        at("deployments", mine, name, api="apps/v1"): {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
        },
    }
    for path, obj in forged.items():
        client.apply(path, obj, MANAGER, force=True).object  # noqa: B018 - raises
    operator.ask()
    operator.start()
    operator.serve()
    operator.wait("Available", "True")

    configuration = operator.get("MutatingWebhookConfiguration")
    assert configuration is not None
    assert "AA==" not in [hook["clientConfig"]["caBundle"] for hook in configuration["webhooks"]]
    # the operator neither writes, deletes nor reads Secrets where it does not live
    for event in control_plane.audit.events(user=operator.user, namespace=mine):
        about = event["objectRef"]["resource"]
        assert event["verb"] in ("get", "list", "watch") or about == "events", event
        assert about != "secrets", event
    for path in forged:
        assert client.get(path).status == 200


def test_the_tokens_of_operator_and_webhook_reach_no_secret_of_others(
    control_plane: ControlPlane, operator: OperatorInstallation, attacker: Tenant
) -> None:
    attacker.secret("precious", value="x")
    operator.ask()
    operator.start()
    operator.admin.wait(operator.where("Deployment"))
    for account in (operator.account, operator.name):
        client = control_plane.token_client(token(control_plane, operator.name, account))
        with contextlib.closing(client):
            assert client.get(at("secrets", attacker.namespace, "precious")).status == 403
            assert client.get(at("secrets")).status == 403
            for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
                where = at(plural, api="admissionregistration.k8s.io/v1")
                obj = {"metadata": {"name": "x"}, "webhooks": []}
                assert client.create(where, obj).status == 403
            binding = {
                "metadata": {"name": "x"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "cluster-admin",
                },
            }
            where = at("clusterrolebindings", api="rbac.authorization.k8s.io/v1")
            assert client.create(where, binding).status == 403
    # what the operator may register is about pods and our own kinds
    client = control_plane.token_client(token(control_plane, operator.name, operator.account))
    with contextlib.closing(client):
        where = operator.where("MutatingWebhookConfiguration")
        for change in (
            {"resources": ["*/*"], "apiGroups": ["*"]},
            {"resources": ["secrets"]},
            {"resources": ["*"]},
            {"apiGroups": ["", "apps"]},
        ):
            answer = client.apply(where, registration(operator.name, change), MANAGER, dryRun="All")
            assert answer.status == 403, (change, answer.message)
            assert "the operator registers webhooks for pods" in answer.message
        elsewhere = registration(operator.name, {}, namespace=attacker.namespace)
        answer = client.apply(where, elsewhere, MANAGER, dryRun="All")
        assert answer.status == 403, answer.message
        assert client.apply(where, registration(operator.name, {}), MANAGER, dryRun="All").status == 201
    # the webhook's account reads no Secret at all, its own certificate included
    client = control_plane.token_client(token(control_plane, operator.name, operator.name))
    with contextlib.closing(client):
        for name in (f"{operator.name}-tls", f"{operator.name}-authority"):
            assert client.get(at("secrets", operator.name, name)).status == 403
        assert client.get(operator.where("MutatingWebhookConfiguration")).status == 403


def registration(name: str, change: Json, namespace: str = "") -> Json:
    """A webhook configuration as the operator makes them, with another rule."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    service = {"name": name, "namespace": namespace or name}
    hook = {
        "name": "pods.vestibule.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": service},
        "sideEffects": "None",
        "rules": [{**rule, **change}],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [hook],
    }


def test_the_login_of_the_issuer_is_not_sent_to_a_host_that_an_object_names(
    operator: OperatorInstallation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET"):
        monkeypatch.setenv(name, "11111111-2222-3333-4444-555555555555")
    path = at("publishedissuers", name=operator.name, api=API)
    with Listener(tmp_path / "listener").listening() as listener:
        obj = {
            "apiVersion": API,
            "kind": "PublishedIssuer",
            "metadata": {"name": operator.name},
            "spec": {"to": f"azblob:https://localhost:{listener.port}/oidc", "interval": "1s"},
        }
        operator.admin.apply(path, obj, "test").object  # noqa: B018 - raises
        operator.start()
        try:
            found = operator.admin.wait(path, lambda one: "conditions" in one.get("status", {}))
            reported = {one["type"]: one for one in found["status"]["conditions"]}
            assert reported["Published"]["status"] == "False"
            assert "spec.to" in reported["Published"]["message"]
            assert "our login is not sent there" in reported["Published"]["message"]
            assert listener.seen == []
        finally:
            operator.admin.delete(path)


def test_the_token_of_the_operator_grants_nobody_more_than_it_has(
    control_plane: ControlPlane, operator: OperatorInstallation, attacker: Tenant
) -> None:
    """It may write roles and bindings of its names; what they say is limited to what it holds."""
    api, name = "rbac.authorization.k8s.io/v1", operator.name
    operator.ask()
    operator.start()
    role = at("clusterroles", name=name, api=api)
    operator.admin.wait(role)
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    subject = {"kind": "User", "name": attacker.name, "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {
        "apiVersion": api,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{name}-guard"},
        "roleRef": reference,
        "subjects": [subject],
    }
    near = {**binding, "kind": "RoleBinding", "metadata": {"name": f"{name}-initdata"}}
    initdata = at("rolebindings", attacker.namespace, f"{name}-initdata", api=api)
    client = control_plane.token_client(token(control_plane, name, operator.account))
    with contextlib.closing(client):
        for rule in (everything, secrets):
            answer = client.patch(role, {"rules": [rule]})
            assert answer.status == 403, answer.message
            assert "attempting to grant RBAC permissions not currently held" in answer.message
        wide = at("clusterrolebindings", name=f"{name}-guard", api=api)
        for path, obj in ((wide, binding), (initdata, near)):
            answer = client.apply(path, obj, MANAGER)
            assert answer.status == 403, answer.message
            assert "attempting to grant RBAC permissions not currently held" in answer.message
        # the policy that limits it is out of its reach, and so are its own roles
        for plural in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
            where = at(plural, name=operator.account, api="admissionregistration.k8s.io/v1")
            assert client.patch(where, {"spec": {}}).status == 403
            assert client.delete(where).status == 403
        own = at("clusterroles", name=operator.account, api=api)
        assert client.patch(own, {"rules": [everything]}).status == 403
