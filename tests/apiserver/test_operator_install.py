"""One object asks for the webhook: it is installed, kept, changed and removed, on a real API server."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.operated import Operated, normal, operated
from tests.apiserver.witness import AWS
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.serving.authority import Authority

pytestmark = pytest.mark.slow

Json = dict[str, Any]


@pytest.fixture
def stand(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Operated]:
    with operated(control_plane, tmp_path) as made:
        yield made


def installed(stand: Operated, **spec: Any) -> None:
    """Asked for, running, registered."""
    stand.ask(**spec)
    stand.start("--resync", "3600")
    stand.serve()
    stand.wait("Available", "True")


def served(stand: Operated, namespace: str) -> None:
    """Until a pod gets its identity."""
    body = {
        "metadata": {"name": "p", "annotations": AWS},
        "spec": {"containers": [{"name": "app", "image": "a"}]},
    }

    def injected() -> bool:
        pod = stand.admin.create(at("pods", namespace), body, dryRun="All").object
        return "cwii.dev/injected" in pod["metadata"]["annotations"]

    process.wait("a pod with its identity", injected, 10)


def test_one_object_is_enough_for_a_pod_to_get_its_identity(stand: Operated, namespace: str) -> None:
    installed(stand)
    served(stand, namespace)


def versions(stand: Operated) -> dict[str, str]:
    """The versions of everything that was made, and of the object itself."""
    found = {place: one["metadata"]["resourceVersion"] for place, one in stand.owned().items()}
    return {**found, "itself": stand.admin.get(stand.path).object["metadata"]["resourceVersion"]}


def writes(stand: Operated, since: int) -> list[str]:
    """What the operator wrote, its lease left out."""
    return [
        f"{event['verb']} {event['objectRef']['resource']} {event['objectRef'].get('name')}"
        for event in stand.plane.audit.events(since, user=stand.user)
        if event["verb"] not in ("get", "list", "watch") and event["objectRef"]["resource"] != "leases"
    ]


def looked(stand: Operated, seconds: float = 20.0) -> None:
    """Until the operator has looked once more: a change of a label that nobody wants brings it to it."""
    mark = stand.plane.audit.mark()
    at_all = {"metadata": {"annotations": {"example.com/poke": str(mark)}}}
    stand.admin.patch(stand.path, at_all).object  # noqa: B018 - raises
    stand.plane.audit.wait(since=mark, seconds=seconds, user=stand.user, verb="list", resource="rolebindings")


def test_the_steady_state_writes_nothing(stand: Operated) -> None:
    installed(stand)
    stand.wait("Progressing", "True", "Deploying")  # there is no kubelet
    looked(stand)
    looked(stand)
    before, mark = versions(stand), stand.plane.audit.mark()
    for _ in range(3):
        looked(stand)
    after = versions(stand)

    assert writes(stand, mark) == []
    assert {**after, "itself": ""} == {**before, "itself": ""}


def test_drift_is_corrected_and_told(stand: Operated) -> None:
    installed(stand)
    wanted = {place: one for place, one in stand.owned().items() if not place.startswith("Secret")}
    changes: dict[str, Json] = {
        "Deployment": {"spec": {"replicas": 7}},
        "ClusterRoleBinding": {"subjects": [{"kind": "User", "name": "mallory"}]},
        "MutatingWebhookConfiguration": {"metadata": {"labels": {"app.kubernetes.io/instance": "x"}}},
        "NetworkPolicy": {"spec": {"ingress": [{}]}},
    }
    for kind, change in changes.items():
        stand.admin.patch(stand.where(kind), change).object  # noqa: B018 - raises
    stand.admin.delete(stand.where("Service"))
    stand.admin.delete(stand.where("ConfigMap", f"{stand.name}-settings"))

    def mended() -> bool:
        now = stand.owned()
        return now.keys() >= wanted.keys() and all(
            normal(now[place]) == normal(one) for place, one in wanted.items() if place[:7] != "Service"
        )

    process.wait("everything as it was", mended, 20)
    told = [
        one["note"]
        for one in stand.admin.list(at("events", "default", api="events.k8s.io/v1"))
        if one["reason"] == "FieldTakenBack" and one["regarding"]["name"] == stand.name
    ]
    assert any("spec.replicas" in note for note in told), told


def test_what_is_switched_off_is_pruned_and_nothing_else(stand: Operated) -> None:
    installed(stand)
    copied = stand.get("ConfigMap", f"{stand.name}-settings")
    assert copied is not None
    copy = {"metadata": {"name": "copy", "labels": copied["metadata"]["labels"]}, "data": {"a": "b"}}
    stand.admin.create(at("configmaps", stand.name), copy).object  # noqa: B018 - raises
    stand.ask(guard="Off", replicas=1, priorityClassName="system-cluster-critical")
    for kind, name in (
        ("ValidatingAdmissionPolicy", f"{stand.name}-guard"),
        ("ValidatingAdmissionPolicyBinding", f"{stand.name}-guard"),
        ("PodDisruptionBudget", ""),
        ("PriorityClass", ""),
    ):
        stand.admin.wait_gone(stand.where(kind, name), 20)
    looked(stand)

    assert stand.get("ConfigMap", "copy") is not None
    assert stand.get("MutatingWebhookConfiguration") is not None


def test_an_object_that_is_not_ours_is_refused_not_overwritten(stand: Operated) -> None:
    theirs = {"metadata": {"name": stand.name}, "rules": []}
    where = at("clusterroles", api="rbac.authorization.k8s.io/v1")
    before = stand.admin.create(where, theirs).object["metadata"]["resourceVersion"]
    stand.ask()
    stand.start()
    told = stand.wait("Degraded", "True", "ForeignObject")

    assert f"ClusterRole {stand.name}" in told["message"]
    found = stand.get("ClusterRole")
    assert found is not None
    assert found["metadata"]["resourceVersion"] == before
    stand.admin.delete(f"{where}/{stand.name}")
    stand.wait("Degraded", "False")


def test_broken_settings_are_told_with_their_path_and_leave_what_runs_alone(stand: Operated) -> None:
    installed(stand)
    looked(stand)
    before = versions(stand)
    stand.ask(settings={"tokenExpirationSecond": 1})
    told = stand.wait("Degraded", "True", "InvalidSpec")

    assert "tokenExpirationSecond" in told["message"]
    assert stand.condition("Available")["status"] == "True"
    assert {**versions(stand), "itself": ""} == {**before, "itself": ""}


def test_registered_is_only_what_answers_through_the_very_bundle(stand: Operated) -> None:
    stand.ask()
    stand.start()
    stand.wait("Available", "False")
    looked(stand)
    looked(stand)
    assert stand.get("MutatingWebhookConfiguration") is None
    stand.serve()
    stand.wait("Available", "True")

    assert stand.get("MutatingWebhookConfiguration") is not None


def test_a_registration_becomes_stricter_only_when_somebody_answers(stand: Operated) -> None:
    def policy() -> str:
        found = stand.get("MutatingWebhookConfiguration")
        return str(found["webhooks"][0]["failurePolicy"]) if found is not None else ""

    installed(stand)
    assert stand.webhook is not None
    stand.webhook.end()
    stand.ask(failurePolicy="Fail")
    told = stand.wait("Progressing", "True", "Proving")
    assert "failurePolicy stays Ignore" in told["message"]
    assert policy() == "Ignore"
    stand.serve()
    stand.wait("Available", "True")
    process.wait("Fail", lambda: policy() == "Fail", 20)
    stand.webhook.end()
    looked(stand)
    stand.wait("Available", "False")

    assert policy() == "Fail"  # proven once, and asked for: pods wait


def test_a_certificate_of_openshift_is_waited_for_and_trusted(stand: Operated, namespace: str) -> None:
    stand.ask(certificate={"mode": "service-ca"})
    stand.start()
    stand.wait("Progressing", "True", "Waiting")
    service = stand.admin.wait(stand.where("Service"))
    asked = service["metadata"]["annotations"]["service.beta.openshift.io/serving-cert-secret-name"]
    assert asked == f"{stand.name}-tls"
    # what the service CA operator does: a pair for the Service, and its authority in annotated ConfigMaps
    authority = Authority("service-ca")
    leaf = authority.leaf()
    data = {
        key: base64.b64encode(value).decode()
        for key, value in (("tls.crt", leaf.cert), ("tls.key", leaf.key))
    }
    secret = {"metadata": {"name": asked}, "type": "kubernetes.io/tls", "data": data}
    stand.admin.create(at("secrets", stand.name), secret).object  # noqa: B018 - raises
    where = stand.where("ConfigMap", f"{stand.name}-service-ca")
    waiting = stand.admin.wait(where)
    assert waiting["metadata"]["annotations"]["service.beta.openshift.io/inject-cabundle"] == "true"
    stand.admin.patch(where, {"data": {"service-ca.crt": authority.pem.decode()}}).object  # noqa: B018
    stand.serve(whole=True)
    stand.wait("Available", "True")
    found = stand.get("MutatingWebhookConfiguration")
    assert found is not None
    trusted = base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"])
    served(stand, namespace)

    assert trusted == authority.pem
    assert stand.admin.get(where).object["data"] == {"service-ca.crt": authority.pem.decode()}


def test_deletion_unregisters_first_and_removes_ours_only(stand: Operated) -> None:
    installed(stand)
    mine = {"metadata": {"name": "mine"}, "data": {"a": "b"}}
    stand.admin.create(at("configmaps", stand.name), mine).object  # noqa: B018 - raises
    mark = stand.plane.audit.mark()
    stand.admin.delete(stand.path)
    stand.admin.wait_gone(stand.path, 30)
    gone = [one for one in writes(stand, mark) if one.startswith("delete")]

    assert stand.owned() == {}
    assert stand.get("ConfigMap", "mine") is not None
    assert gone[0] == f"delete mutatingwebhookconfigurations {stand.name}"
    assert len(gone) > 8


def test_other_identity_webhooks_are_told(stand: Operated) -> None:
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
    stand.ask()
    stand.start()
    stand.wait("Alone", "True")
    stand.admin.create(where, {"metadata": {"name": "op-neighbour"}, "webhooks": [hook]}).object  # noqa: B018
    try:
        told = stand.wait("Alone", "False", "OtherIdentityWebhooks")
        assert "the EKS pod identity webhook" in told["message"]
    finally:
        stand.admin.delete(f"{where}/op-neighbour")
    stand.wait("Alone", "True")
