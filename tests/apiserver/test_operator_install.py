"""One object asks for the webhook: it is installed, kept, changed and removed, on a real API server."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.admitted_pod import AWS
from tests.apiserver.operator_installation import OperatorInstallation, normal, operator_installed
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.serving.authority import Authority

pytestmark = pytest.mark.slow

Json = dict[str, Any]


@pytest.fixture
def environment(control_plane: ControlPlane, tmp_path: Path) -> Iterator[OperatorInstallation]:
    with operator_installed(control_plane, tmp_path) as created:
        yield created


def installed(environment: OperatorInstallation, **spec: Any) -> None:
    """Asked for, running, registered."""
    environment.ask(**spec)
    environment.start("--resync", "3600")
    environment.serve()
    environment.wait("Available", "True")


def served(environment: OperatorInstallation, namespace: str) -> None:
    """Until a pod gets its identity."""
    body = {
        "metadata": {"name": "p", "annotations": AWS},
        "spec": {"containers": [{"name": "app", "image": "a"}]},
    }

    def injected() -> bool:
        pod = environment.admin.create(at("pods", namespace), body, dryRun="All").object
        return "cwii.dev/injected" in pod["metadata"]["annotations"]

    process.wait("a pod with its identity", injected, 10)


def test_one_object_is_enough_for_a_pod_to_get_its_identity(
    environment: OperatorInstallation, namespace: str
) -> None:
    installed(environment)
    served(environment, namespace)


def versions(environment: OperatorInstallation) -> dict[str, str]:
    """The versions of everything that was made, and of the object itself."""
    found = {place: one["metadata"]["resourceVersion"] for place, one in environment.owned().items()}
    return {**found, "itself": environment.admin.get(environment.path).object["metadata"]["resourceVersion"]}


def writes(environment: OperatorInstallation, since: int) -> list[str]:
    """What the operator wrote, its lease left out."""
    return [
        f"{event['verb']} {event['objectRef']['resource']} {event['objectRef'].get('name')}"
        for event in environment.plane.audit.events(since, user=environment.user)
        if event["verb"] not in ("get", "list", "watch") and event["objectRef"]["resource"] != "leases"
    ]


def looked(environment: OperatorInstallation, seconds: float = 20.0) -> None:
    """Until the operator has looked once more: a change of a label that nobody wants brings it to it."""
    mark = environment.plane.audit.mark()
    at_all = {"metadata": {"annotations": {"example.com/poke": str(mark)}}}
    environment.admin.patch(environment.path, at_all).object  # noqa: B018 - raises
    environment.plane.audit.wait(
        since=mark, seconds=seconds, user=environment.user, verb="list", resource="rolebindings"
    )


def test_the_steady_state_writes_nothing(environment: OperatorInstallation) -> None:
    installed(environment)
    environment.wait("Progressing", "True", "Deploying")  # there is no kubelet
    looked(environment)
    looked(environment)
    before, mark = versions(environment), environment.plane.audit.mark()
    for _ in range(3):
        looked(environment)
    after = versions(environment)

    assert writes(environment, mark) == []
    assert {**after, "itself": ""} == {**before, "itself": ""}


def test_drift_is_corrected_and_reported(environment: OperatorInstallation) -> None:
    installed(environment)
    expected = {place: one for place, one in environment.owned().items() if not place.startswith("Secret")}
    changes: dict[str, Json] = {
        "Deployment": {"spec": {"replicas": 7}},
        "ClusterRoleBinding": {"subjects": [{"kind": "User", "name": "mallory"}]},
        "MutatingWebhookConfiguration": {"metadata": {"labels": {"app.kubernetes.io/instance": "x"}}},
        "NetworkPolicy": {"spec": {"ingress": [{}]}},
    }
    for kind, change in changes.items():
        environment.admin.patch(environment.where(kind), change).object  # noqa: B018 - raises
    environment.admin.delete(environment.where("Service"))
    environment.admin.delete(environment.where("ConfigMap", f"{environment.name}-settings"))

    def repaired() -> bool:
        now = environment.owned()
        return now.keys() >= expected.keys() and all(
            normal(now[place]) == normal(one) for place, one in expected.items() if place[:7] != "Service"
        )

    process.wait("everything as it was", repaired, 20)
    reported = [
        one["note"]
        for one in environment.admin.list(at("events", "default", api="events.k8s.io/v1"))
        if one["reason"] == "FieldTakenBack" and one["regarding"]["name"] == environment.name
    ]
    assert any("spec.replicas" in note for note in reported), reported


def test_what_is_switched_off_is_pruned_and_nothing_else(environment: OperatorInstallation) -> None:
    installed(environment)
    copied = environment.get("ConfigMap", f"{environment.name}-settings")
    assert copied is not None
    copy = {"metadata": {"name": "copy", "labels": copied["metadata"]["labels"]}, "data": {"a": "b"}}
    environment.admin.create(at("configmaps", environment.name), copy).object  # noqa: B018 - raises
    environment.ask(guard="Off", replicas=1, priorityClassName="system-cluster-critical")
    for kind, name in (
        ("ValidatingAdmissionPolicy", f"{environment.name}-guard"),
        ("ValidatingAdmissionPolicyBinding", f"{environment.name}-guard"),
        ("PodDisruptionBudget", ""),
        ("PriorityClass", ""),
    ):
        environment.admin.wait_gone(environment.where(kind, name), 20)
    looked(environment)

    assert environment.get("ConfigMap", "copy") is not None
    assert environment.get("MutatingWebhookConfiguration") is not None


def test_an_object_that_is_not_ours_is_refused_not_overwritten(environment: OperatorInstallation) -> None:
    theirs = {"metadata": {"name": environment.name}, "rules": []}
    where = at("clusterroles", api="rbac.authorization.k8s.io/v1")
    before = environment.admin.create(where, theirs).object["metadata"]["resourceVersion"]
    environment.ask()
    environment.start()
    reported = environment.wait("Degraded", "True", "ForeignObject")

    assert f"ClusterRole {environment.name}" in reported["message"]
    found = environment.get("ClusterRole")
    assert found is not None
    assert found["metadata"]["resourceVersion"] == before
    environment.admin.delete(f"{where}/{environment.name}")
    environment.wait("Degraded", "False")


def test_broken_settings_are_reported_with_their_path_and_leave_what_runs_alone(
    environment: OperatorInstallation,
) -> None:
    installed(environment)
    looked(environment)
    before = versions(environment)
    environment.ask(settings={"tokenExpirationSecond": 1})
    reported = environment.wait("Degraded", "True", "InvalidSpec")

    assert "tokenExpirationSecond" in reported["message"]
    assert environment.condition("Available")["status"] == "True"
    assert {**versions(environment), "itself": ""} == {**before, "itself": ""}


def test_registered_is_only_what_answers_through_the_very_bundle(environment: OperatorInstallation) -> None:
    environment.ask()
    environment.start()
    environment.wait("Available", "False")
    looked(environment)
    looked(environment)
    assert environment.get("MutatingWebhookConfiguration") is None
    environment.serve()
    environment.wait("Available", "True")

    assert environment.get("MutatingWebhookConfiguration") is not None


def test_a_webhook_configuration_becomes_stricter_only_when_somebody_answers(
    environment: OperatorInstallation,
) -> None:
    def policy() -> str:
        found = environment.get("MutatingWebhookConfiguration")
        return str(found["webhooks"][0]["failurePolicy"]) if found is not None else ""

    installed(environment)
    assert environment.webhook is not None
    environment.webhook.end()
    environment.ask(failurePolicy="Fail")
    reported = environment.wait("Progressing", "True", "Proving")
    assert "failurePolicy stays Ignore" in reported["message"]
    assert policy() == "Ignore"
    environment.serve()
    environment.wait("Available", "True")
    process.wait("Fail", lambda: policy() == "Fail", 20)
    environment.webhook.end()
    looked(environment)
    environment.wait("Available", "False")

    assert policy() == "Fail"  # proven once, and asked for: pods wait


def test_a_certificate_of_openshift_is_waited_for_and_trusted(
    environment: OperatorInstallation, namespace: str
) -> None:
    environment.ask(certificate={"mode": "service-ca"})
    environment.start()
    environment.wait("Progressing", "True", "Waiting")
    service = environment.admin.wait(environment.where("Service"))
    requested = service["metadata"]["annotations"]["service.beta.openshift.io/serving-cert-secret-name"]
    assert requested == f"{environment.name}-tls"
    # what the service CA operator does: a pair for the Service, and its authority in annotated ConfigMaps
    authority = Authority("service-ca")
    leaf = authority.leaf()
    data = {
        key: base64.b64encode(value).decode()
        for key, value in (("tls.crt", leaf.cert), ("tls.key", leaf.key))
    }
    secret = {"metadata": {"name": requested}, "type": "kubernetes.io/tls", "data": data}
    environment.admin.create(at("secrets", environment.name), secret).object  # noqa: B018 - raises
    where = environment.where("ConfigMap", f"{environment.name}-service-ca")
    waiting = environment.admin.wait(where)
    assert waiting["metadata"]["annotations"]["service.beta.openshift.io/inject-cabundle"] == "true"
    environment.admin.patch(where, {"data": {"service-ca.crt": authority.pem.decode()}}).object  # noqa: B018
    environment.serve(whole=True)
    environment.wait("Available", "True")
    found = environment.get("MutatingWebhookConfiguration")
    assert found is not None
    trusted = base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"])
    served(environment, namespace)

    assert trusted == authority.pem
    assert environment.admin.get(where).object["data"] == {"service-ca.crt": authority.pem.decode()}


def test_deletion_unregisters_first_and_removes_ours_only(environment: OperatorInstallation) -> None:
    installed(environment)
    mine = {"metadata": {"name": "mine"}, "data": {"a": "b"}}
    environment.admin.create(at("configmaps", environment.name), mine).object  # noqa: B018 - raises
    mark = environment.plane.audit.mark()
    environment.admin.delete(environment.path)
    environment.admin.wait_gone(environment.path, 30)
    gone = [one for one in writes(environment, mark) if one.startswith("delete")]

    assert environment.owned() == {}
    assert environment.get("ConfigMap", "mine") is not None
    assert gone[0] == f"delete mutatingwebhookconfigurations {environment.name}"
    assert len(gone) > 8


def test_other_identity_webhooks_are_reported(environment: OperatorInstallation) -> None:
    hook = {
        "name": "pod-identity-webhook.amazonaws.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        ],
        "objectSelector": {"matchLabels": {"nobody": "has-this"}},
    }
    where = at("mutatingwebhookconfigurations", api="admissionregistration.k8s.io/v1")
    environment.ask()
    environment.start()
    environment.wait("Alone", "True")
    environment.admin.create(where, {"metadata": {"name": "op-neighbour"}, "webhooks": [hook]}).object  # noqa: B018
    try:
        reported = environment.wait("Alone", "False", "OtherIdentityWebhooks")
        assert "the EKS pod identity webhook" in reported["message"]
    finally:
        environment.admin.delete(f"{where}/op-neighbour")
    environment.wait("Alone", "True")
