"""A webhook that the operator cannot call: whether it serves is tried in the guest, with a pod that is not
stored."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.child_process import Running
from tests.apiserver.hosted_environment import ADMINISTRATOR, HostedEnvironment, hosted_environment
from tests.apiserver.operator_installation import HOSTED, OperatorInstallation, operator_installed
from tests.chart.kubelet import pod
from tests.rig import definitions, process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from vestibule.operator.controllers.hosted import serving_certificate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kinds(control_plane: ControlPlane) -> Iterator[None]:
    with definitions.installed(control_plane, definitions.HYPERSHIFT):
        yield


@pytest.fixture
def operator(control_plane: ControlPlane, kinds: None, tmp_path: Path) -> Iterator[OperatorInstallation]:
    with operator_installed(
        control_plane, tmp_path, install={"hosted": True, "hostedAllNamespaces": True}
    ) as created:
        yield created


@pytest.fixture
def environment(
    control_plane: ControlPlane, operator: OperatorInstallation, tmp_path: Path
) -> Iterator[HostedEnvironment]:
    with hosted_environment(control_plane, tmp_path / "hosted") as created:
        yield created


def policies(configuration: dict[str, Any]) -> set[str]:
    return {one["failurePolicy"] for one in configuration["webhooks"]}


def tried(plane: ControlPlane) -> int:
    """How often the operator tried a pod."""
    return sum(
        event["verb"] == "create" and event["objectRef"].get("resource") == "pods"
        for event in plane.audit.events(user=ADMINISTRATOR)
    )


def looks(running: Running) -> float:
    _, text = running.get("/metrics")
    name = 'vestibule_operator_reconciles_total{controller="hosted",result="done"} '
    return sum(float(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))


def look(environment: HostedEnvironment, running: Running) -> None:
    """One that began after now: another may be under way."""
    for _ in range(2):
        seen = looks(running)
        environment.admin.patch(environment.path, {"metadata": {"annotations": {"test": str(seen)}}}).object  # noqa: B018
        process.wait("a look", functools.partial(_looked, running, seen), 30)


def _looked(running: Running, seen: float) -> bool:
    return looks(running) > seen


def test_a_webhook_in_the_hosted_cluster_is_verified_by_a_pod_that_is_tried_there(
    environment: HostedEnvironment, operator: OperatorInstallation, tmp_path: Path
) -> None:
    guest = environment.guest
    guest.apiserver.flags |= {"enable-aggregator-routing": "true"}  # nothing routes here
    guest.apiserver.kill()
    guest.apiserver.start()
    running = operator.start(*HOSTED)
    environment.ask(attach="in-guest", failurePolicy="Fail")
    environment.wait("Verified", "False", 60)
    why = "came back without identity; failurePolicy stays Ignore until it answers"
    process.wait("it to wait", lambda: environment.condition("Verified")["message"].endswith(why), 30)
    assert environment.condition("Available")["reason"] == "NotProven"

    namespace = serving_certificate.GUEST_NAMESPACE
    configuration = at(
        "mutatingwebhookconfigurations", name="vestibule", api="admissionregistration.k8s.io/v1"
    )
    assert policies(guest.admin.get(configuration).object) == {"Ignore"}
    with (
        pod(guest, namespace, "vestibule-certificates", tmp_path / "issuer") as issuer,
        pod(guest, namespace, "vestibule", tmp_path / "pod") as replica,
    ):
        issuer.start("--metrics-addr", f"127.0.0.1:{issuer.plain}")
        replica.start(
            *replica.certificate(),
            *("--addr", f"{replica.address}:{replica.port}", "--metrics-addr", f"127.0.0.1:{replica.plain}"),
        )
        guest.admin.wait(configuration, lambda one: "caBundle" in one["webhooks"][0]["clientConfig"])
        replica.publish("vestibule")
        environment.wait("Verified", "True", 60)
        assert environment.condition("Verified")["reason"] == "Served"
        assert environment.condition("Available")["reason"] == "Serving"
        guest.admin.wait(configuration, lambda one: policies(one) == {"Fail"})

        # what is proven is not tried at every look; the registration may have changed during the first
        look(environment, running)
        before = tried(guest)
        for _ in range(3):
            look(environment, running)
        assert tried(guest) == before
        assert guest.admin.list(at("pods", "default")) == []
    environment.admin.delete(environment.path)
    environment.admin.wait_gone(environment.path)
