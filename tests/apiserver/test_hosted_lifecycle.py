"""The proof of the hosted operator: two real API servers, the real definitions, the controller-manager, the
operator's process with the rights that are rendered, and the webhook's process from the container that it
wrote."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from tests.apiserver.child_process import Running
from tests.apiserver.hosted_environment import (
    ADMINISTRATOR,
    LABELLED,
    REGISTRATION,
    VECTOR,
    HostedEnvironment,
    Kubelet,
    Load,
    everything,
    hosted_environment,
    mutated,
)
from tests.apiserver.operator_installation import HOSTED, OperatorInstallation, operator_installed
from tests.rig import definitions, process
from tests.rig.client import JSON_PATCH, at
from tests.rig.controlplane import ControlPlane
from tests.rig.faultproxy import FaultProxy
from tests.vectors.hypershift_attach import pod_facts
from tests.vectors.hypershift_given import secrets
from vestibule.manifests import hosted_rbac
from vestibule.operator.controllers.hosted import hypershift_webhooks, serving_certificate

pytestmark = pytest.mark.slow

Json = dict[str, Any]
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@pytest.fixture(scope="module")
def kinds(control_plane: ControlPlane) -> Iterator[None]:
    """The real definitions."""
    with definitions.installed(control_plane, definitions.HYPERSHIFT, *definitions.CERT_MANAGER):
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
    with hosted_environment(control_plane, tmp_path / "hosted", controllers=True) as created:
        yield created


def looks(running: Running, result: str = "done") -> float:
    """How often the hosted controller came to an end."""
    _, text = running.get("/metrics")
    name = f'vestibule_operator_reconciles_total{{controller="hosted",result="{result}"}} '
    return sum(float(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))


def written(
    environment: HostedEnvironment, operator: OperatorInstallation, marks: tuple[int, int]
) -> list[str]:
    """What the operator wrote since, in both clusters, its lease apart."""
    found = []
    for plane, mark, user in (
        (environment.management, marks[0], operator.user),
        (environment.guest, marks[1], ADMINISTRATOR),
    ):
        for event in plane.audit.events(mark, user=user):
            about = event.get("objectRef", {})
            if event["verb"] in WRITES and about.get("resource") != "leases":
                found.append(f"{event['verb']} {about.get('resource')} {about.get('name')}")
    return found


def marks(environment: HostedEnvironment) -> tuple[int, int]:
    return environment.management.audit.mark(), environment.guest.audit.mark()


def touched(environment: HostedEnvironment, running: Running, times: int = 2) -> None:
    """Looks at which nothing has changed."""
    for _ in range(times):
        before = looks(running)
        environment.admin.patch(environment.path, {"metadata": {"annotations": {"test": str(before)}}}).object  # noqa: B018
        process.wait("a look", functools.partial(_looked, running, before), 20)


def _looked(running: Running, before: float) -> bool:
    return looks(running) > before


def refused(operator: OperatorInstallation) -> list[str]:
    return [
        f"{event['verb']} {event.get('objectRef')}"
        for event in operator.plane.audit.events(user=operator.user)
        if event.get("responseStatus", {}).get("code") == 403
    ]


@pytest.mark.slow
def test_a_hosted_cluster_is_served_through_everything_that_happens(
    environment: HostedEnvironment, operator: OperatorInstallation, tmp_path: Path
) -> None:
    guest = environment.guest
    running = operator.start(*HOSTED)
    environment.ask(failurePolicy="Fail")
    # everything is there but the registration, until somebody answers
    environment.wait("Available", "False")
    assert guest.admin.get(REGISTRATION).status == 404
    with Kubelet(environment, tmp_path / "kubelet") as kubelet:
        environment.wait("Available", "True", 60)
        namespace = environment.pods()
        _a_pod_has_its_identity(environment, namespace)
        _nothing_moves(environment, operator, running)
        _drift_is_taken_back_at_once(environment)
        _certificates_change_under_load(environment, kubelet, namespace)
        _the_guest_dies_and_comes_back(environment, running)
        _a_pod_has_its_identity(environment, namespace)
        assert 'kind="HostedWebhook"' in running.get("/metrics")[1]
        environment.admin.delete(environment.path)
        environment.admin.wait_gone(environment.path)
        assert environment.owned() == []
    assert guest.admin.get(at("namespaces", name=serving_certificate.GUEST_NAMESPACE)).status == 200
    assert refused(operator) == []
    granted = {
        (resource, verb)
        for rule in hosted_rbac.rules()
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    used = {
        (event["objectRef"]["resource"], event["verb"])
        for event in operator.plane.audit.events(user=operator.user, namespace=environment.namespace)
        if not event["objectRef"].get("subresource")
    }
    assert used <= granted


def _a_pod_has_its_identity(environment: HostedEnvironment, namespace: str) -> None:
    """It is mutated as the case wants, and its token is one of the guest's."""
    guest = environment.guest
    where = at("pods", namespace)
    process.wait(
        "a pod with its identity",
        lambda: mutated(guest.admin.create(where, LABELLED, dryRun="All").object),
        20,
    )
    pod = guest.admin.create(where, LABELLED).object
    assert list(pod_facts(pod, VECTOR["expect"]["cases"][0])) == []
    volume = next(one for one in pod["spec"]["volumes"] if one["name"] == "azure-identity-token")
    requested = volume["projected"]["sources"][0]["serviceAccountToken"]
    spec = {"audiences": [requested["audience"]], "expirationSeconds": requested["expirationSeconds"]}
    account = pod["spec"]["serviceAccountName"]
    answer = guest.admin.create(at("serviceaccounts", namespace, account, "token"), {"spec": spec})
    token = answer.object["status"]["token"]
    keys = guest.admin.raw("GET", "/openid/v1/jwks", headers={"Accept": "*/*"}).object
    key = jwt.PyJWKSet.from_dict(keys)[jwt.get_unverified_header(token)["kid"]]
    claims = jwt.decode(
        token, key, algorithms=["RS256"], audience=requested["audience"], issuer=guest.apiserver.issuer
    )
    assert claims["sub"] == f"system:serviceaccount:{namespace}:{account}"
    path = at("pods", namespace, pod["metadata"]["name"])
    guest.admin.delete(path, gracePeriodSeconds=0)
    guest.admin.wait_gone(path)


def _nothing_moves(environment: HostedEnvironment, operator: OperatorInstallation, running: Running) -> None:
    """A second look changes no object of either cluster, and writes nothing."""
    touched(environment, running, 1)
    since, before = (
        marks(environment),
        [everything(plane) for plane in (environment.management, environment.guest)],
    )
    touched(environment, running, 3)
    after = [everything(plane) for plane in (environment.management, environment.guest)]
    moved = {
        place
        for one, other in zip(before, after, strict=True)
        for place in one
        if one[place] != other.get(place)
    }
    assert moved == {
        f"vestibule.dev/v1alpha1 hostedwebhooks {environment.namespace}/{environment.name}"
    }  # by the test
    assert [set(one) for one in before] == [set(one) for one in after]
    assert written(environment, operator, since) == []


def _drift_is_taken_back_at_once(environment: HostedEnvironment) -> None:
    """In the guest and beside its API server; nothing waits for the resync, which is minutes away."""
    patch = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
    environment.guest.admin.patch(REGISTRATION, patch, JSON_PATCH).object  # noqa: B018 - raises
    environment.guest.admin.wait(REGISTRATION, lambda found: found["webhooks"][0]["failurePolicy"] == "Fail")
    environment.guest.admin.delete(REGISTRATION).object  # noqa: B018 - raises
    environment.guest.admin.wait(REGISTRATION)
    service = at("services", environment.namespace, hypershift_webhooks.OURS)
    environment.admin.delete(service).object  # noqa: B018 - raises
    environment.admin.wait(service)


def _certificates_change_under_load(environment: HostedEnvironment, kubelet: Kubelet, namespace: str) -> None:
    """A lost leaf and a lost authority are made anew, and no pod notices."""
    assert kubelet.beside is not None
    adjacent, first = kubelet.beside, environment.bundle()
    assert len(first) == 1
    with Load(environment, namespace) as load:
        serial = adjacent.serial()
        environment.admin.delete(environment.secret("serving-cert")).object  # noqa: B018 - raises
        process.wait("another leaf", lambda: adjacent.serial() != serial, 30, every=0.1)
        assert environment.bundle() == first
        serial = adjacent.serial()
        environment.admin.delete(environment.secret("ca")).object  # noqa: B018 - raises
        process.wait("both authorities", lambda: len(environment.bundle()) == 2, 30)
        assert adjacent.serial() == serial
        process.wait("the new leaf", lambda: adjacent.serial() != serial, 40, every=0.1)
        process.wait("the new authority alone", lambda: len(environment.bundle()) == 1, 30)
        assert environment.bundle() != first
        before = load.created
        process.wait("more pods", lambda: load.created > before + 50, 30)
    assert load.failures == []
    assert load.created > 200


def _the_guest_dies_and_comes_back(environment: HostedEnvironment, running: Running) -> None:
    before = everything(environment.management)
    environment.guest.apiserver.kill()
    environment.wait("GuestReachable", "False")
    assert running.process.poll() is None
    environment.guest.apiserver.start()
    environment.wait("Available", "True", 60)
    after = everything(environment.management)
    ours = [
        place for place in before if place.endswith(f"{environment.namespace}/{hypershift_webhooks.OURS}")
    ]
    assert len(ours) >= 4
    assert {place: before[place] for place in ours} == {place: after[place] for place in ours}


@pytest.mark.slow
def test_hosted_clusters_that_hang_stall_nobody_and_a_dead_one_can_be_deleted(
    control_plane: ControlPlane,
    environment: HostedEnvironment,
    operator: OperatorInstallation,
    tmp_path: Path,
) -> None:
    """With one worker, and more hanging guests than workers; connections open and nothing is said."""
    operator.start(*HOSTED, "--workers", "1")
    others: list[HostedEnvironment] = []
    with contextlib.ExitStack() as held:
        proxy = held.enter_context(FaultProxy.opaque(environment.guest.url))
        held.enter_context(proxy.stalled())
        for _ in range(6):
            namespace = control_plane.namespace("clusters-slow")
            server = f"https://localhost:{proxy.port}"
            slow = HostedEnvironment(
                control_plane, environment.guest, namespace, secrets(namespace), server=server
            )
            slow.ask(abandonAfter="2s")
            others.append(slow)
        held.enter_context(Kubelet(environment, tmp_path / "kubelet"))
        environment.ask()
        environment.wait("Available", "True", 30)
        for slow in others:
            slow.wait("GuestReachable", "False", 40)
            assert slow.condition("Available")["reason"] == "GuestUnreachable"
        # deleted while the guest hangs: given up after the time that was asked for, and told
        slow = others[0]
        slow.admin.delete(slow.path)
        slow.admin.wait_gone(slow.path, 40)
        reported = slow.admin.list(at("events", slow.namespace, api="events.k8s.io/v1"))
        assert "GuestCleanupSkipped" in [one["reason"] for one in reported]
        assert [one for one in slow.owned() if not one.startswith("guest ")] == []
        # a control plane that goes takes its guest with it: nobody waits
        gone = others[1]
        gone.admin.delete(gone.control_plane)
        gone.admin.delete(gone.path)
        gone.admin.wait_gone(gone.path, 40)
    for slow in others[2:]:
        slow.admin.delete(slow.path)
    environment.admin.delete(environment.path)
    for one in (environment, *others):
        one.admin.wait_gone(one.path, 60)
