"""A webhook that the operator cannot call: whether it serves is tried in the guest, with a pod that is not
stored."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.hostedstand import ADMINISTRATOR, HostedStand, hosted_stand
from tests.apiserver.operated import HOSTED, Operated, operated
from tests.apiserver.running import Running
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
def operator(control_plane: ControlPlane, kinds: None, tmp_path: Path) -> Iterator[Operated]:
    with operated(control_plane, tmp_path, install={"hosted": True, "hostedAllNamespaces": True}) as made:
        yield made


@pytest.fixture
def stand(control_plane: ControlPlane, operator: Operated, tmp_path: Path) -> Iterator[HostedStand]:
    with hosted_stand(control_plane, tmp_path / "hosted") as made:
        yield made


def policies(registration: dict[str, Any]) -> set[str]:
    return {one["failurePolicy"] for one in registration["webhooks"]}


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


def look(stand: HostedStand, running: Running) -> None:
    """One that began after now: another may be under way."""
    for _ in range(2):
        seen = looks(running)
        stand.admin.patch(stand.path, {"metadata": {"annotations": {"test": str(seen)}}}).object  # noqa: B018
        process.wait("a look", functools.partial(_looked, running, seen), 30)


def _looked(running: Running, seen: float) -> bool:
    return looks(running) > seen


def test_a_webhook_in_the_guest_is_verified_by_a_pod_that_is_tried_there(
    stand: HostedStand, operator: Operated, tmp_path: Path
) -> None:
    guest = stand.guest
    guest.apiserver.flags |= {"enable-aggregator-routing": "true"}  # nothing routes here
    guest.apiserver.kill()
    guest.apiserver.start()
    running = operator.start(*HOSTED)
    stand.ask(attach="in-guest", failurePolicy="Fail")
    stand.wait("Verified", "False", 60)
    why = "came back without identity; failurePolicy stays Ignore until it answers"
    process.wait("it to wait", lambda: stand.condition("Verified")["message"].endswith(why), 30)
    assert stand.condition("Available")["reason"] == "NotProven"

    namespace = serving_certificate.GUEST_NAMESPACE
    registration = at(
        "mutatingwebhookconfigurations", name="vestibule", api="admissionregistration.k8s.io/v1"
    )
    assert policies(guest.admin.get(registration).object) == {"Ignore"}
    with (
        pod(guest, namespace, "vestibule-certificates", tmp_path / "issuer") as issuer,
        pod(guest, namespace, "vestibule", tmp_path / "pod") as replica,
    ):
        issuer.start("--metrics-addr", f"127.0.0.1:{issuer.plain}")
        replica.start(
            *replica.certificate(),
            *("--addr", f"{replica.address}:{replica.port}", "--metrics-addr", f"127.0.0.1:{replica.plain}"),
        )
        guest.admin.wait(registration, lambda one: "caBundle" in one["webhooks"][0]["clientConfig"])
        replica.publish("vestibule")
        stand.wait("Verified", "True", 60)
        assert stand.condition("Verified")["reason"] == "Served"
        assert stand.condition("Available")["reason"] == "Serving"
        guest.admin.wait(registration, lambda one: policies(one) == {"Fail"})

        # what is proven is not tried at every look; the registration may have changed during the first
        look(stand, running)
        before = tried(guest)
        for _ in range(3):
            look(stand, running)
        assert tried(guest) == before
        assert guest.admin.list(at("pods", "default")) == []
    stand.admin.delete(stand.path)
    stand.admin.wait_gone(stand.path)
