"""What a confidential namespace enforces, held by the API server alone: no webhook is configured here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.apiserver.webhook_installation import path_of
from tests.rig.client import MERGE, STRATEGIC, Answer, at
from tests.rig.controlplane import ControlPlane
from vestibule.api import kata
from vestibule.api.settings import schema
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.manifests import install, sandbox_webhooks

Json = dict[str, Any]


def kata_policy(namespace: str) -> SandboxPolicy:
    webhook = {"enforce": {"namespaces": [namespace], "runtimeClasses": ["kata-cc*"]}}
    return SandboxPolicy([kata.kata_config({"metadata": {"name": "k"}, "spec": {"webhook": webhook}})])


@pytest.fixture
def guarded(control_plane: ControlPlane, namespace: str) -> Iterator[ControlPlane]:
    """The rendered policy and its binding, and a RuntimeClass for confidential pods."""
    settings = schema.parse({"sandbox": {"enabled": True}, "install": {"name": "enforced"}}, "test")
    rendered = install.objects(settings, kata_policy(namespace))
    manifests = [one for one in rendered if one["metadata"]["name"] == sandbox_webhooks.guard_name(settings)]
    assert [one["kind"] for one in manifests] == [
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ]
    admin = control_plane.admin
    runtime = {"metadata": {"name": "kata-cc"}, "handler": "kata-cc"}
    created = admin.create(at("runtimeclasses", api="node.k8s.io/v1"), runtime)
    for obj in manifests:
        assert admin.apply(path_of(obj), obj, "test", force=True).status in (200, 201)
    try:
        deadline = time.monotonic() + 30
        while create(control_plane, namespace, "", dryRun="All").status != 403:
            assert time.monotonic() < deadline, "the policy is not in force"
            time.sleep(0.1)
        yield control_plane
    finally:
        for obj in reversed(manifests):
            admin.delete(path_of(obj))
        if created.status == 201:
            admin.delete(at("runtimeclasses", name="kata-cc", api="node.k8s.io/v1"))


def create(plane: ControlPlane, namespace: str, runtime_class: str, **query: Any) -> Answer:
    spec: Json = {"containers": [{"name": "a", "image": "a"}], "schedulingGates": [{"name": "example.org/x"}]}
    if runtime_class:
        spec["runtimeClassName"] = runtime_class
    pod = {"metadata": {"generateName": "p-", "annotations": {"example.org/own": "1"}}, "spec": spec}
    return plane.admin.create(at("pods", namespace), pod, **query)


@pytest.mark.parametrize("key", kata.ENFORCED)
def test_a_gated_pod_keeps_the_annotations_that_decide_about_its_guest(
    guarded: ControlPlane, namespace: str, key: str
) -> None:
    pod = create(guarded, namespace, "kata-cc").object
    where = at("pods", namespace, name=pod["metadata"]["name"])
    change = {"metadata": {"annotations": {key: "agent.debug_console"}}}

    refused = guarded.admin.patch(where, change, MERGE)
    status = guarded.admin.patch(f"{where}/status", change, MERGE)
    other = guarded.admin.patch(where, {"metadata": {"annotations": {"example.org/own": "2"}}}, MERGE)

    assert (refused.status, other.status) == (403, 200)
    assert "io.katacontainers.* was decided at admission" in refused.message
    stored = guarded.admin.get(where).object["metadata"]["annotations"]
    assert key not in stored, status.message


def test_a_binding_brings_no_annotation_that_was_decided_at_admission(
    guarded: ControlPlane, namespace: str
) -> None:
    pod = create(guarded, namespace, "kata-cc").object
    name = pod["metadata"]["name"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "annotations": {kata.KERNEL_PARAMS: "x"}},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n"},
    }

    refused = guarded.admin.create(at("pods", namespace, name=name, sub="binding"), binding)

    assert refused.status == 403, refused.message
    assert "a Binding cannot bring annotations" in refused.message


def test_a_debug_container_passes_and_brings_no_annotation(guarded: ControlPlane, namespace: str) -> None:
    pod = create(guarded, namespace, "kata-cc").object
    where = at("pods", namespace, name=pod["metadata"]["name"])
    change = {
        "metadata": {"annotations": {kata.KERNEL_PARAMS: "x"}},
        "spec": {"ephemeralContainers": [{"name": "d", "image": "d"}]},
    }

    answer = guarded.admin.patch(f"{where}/ephemeralcontainers", change, STRATEGIC)

    assert answer.status == 403 or kata.KERNEL_PARAMS not in answer.object["metadata"]["annotations"]


@pytest.mark.parametrize("runtime_class", ["", "other"])
def test_another_class_or_none_is_refused_in_the_namespace_and_taken_elsewhere(
    guarded: ControlPlane, namespace: str, runtime_class: str
) -> None:
    admin = guarded.admin
    if runtime_class:
        created = admin.create(
            at("runtimeclasses", api="node.k8s.io/v1"), {"metadata": {"name": "other"}, "handler": "other"}
        )
        assert created.status == 201
    try:
        refused = create(guarded, namespace, runtime_class, dryRun="All")
        elsewhere = create(guarded, "default", runtime_class, dryRun="All")
    finally:
        admin.delete(at("runtimeclasses", name="other", api="node.k8s.io/v1"))

    assert (refused.status, elsewhere.status) == (403, 201)
    assert "want kata-cc* in this namespace" in refused.message
