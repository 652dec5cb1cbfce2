"""What happens in a guest and is noticed before the next resync: it signs tokens with another key, and
somebody touches objects of ours there."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from tests.apiserver.child_process import Running
from tests.apiserver.hosted_environment import (
    LABELLED,
    HostedEnvironment,
    Kubelet,
    hosted_environment,
    mutated,
)
from tests.apiserver.operator_installation import HOSTED, OperatorInstallation, operator_installed
from tests.rig import definitions, process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from vestibule.operator.controllers.hosted import hypershift_webhooks, serving_certificate
from vestibule.provision import keypair

pytestmark = pytest.mark.slow

Json = dict[str, Any]


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


def sign_with(plane: ControlPlane, folder: Path, private: Path, *public: Path) -> None:
    """Start the API server anew with this signer, accepting these."""
    accepted = folder / "accepted.pem"
    accepted.write_text("".join(path.read_text() for path in public))
    plane.apiserver.flags |= {
        "service-account-key-file": str(accepted),
        "service-account-signing-key-file": str(private),
    }
    plane.apiserver.kill()
    plane.apiserver.start()


def token(environment: HostedEnvironment) -> str:
    data = environment.admin.get(environment.secret("kubeconfig")).object["data"]
    return base64.b64decode(data["token"]).decode()


def kid(environment: HostedEnvironment) -> str:
    return str(jwt.get_unverified_header(token(environment))["kid"])


def known(plane: ControlPlane, token: str) -> bool:
    """Whether the API server knows a token, as it says itself."""
    review = {"spec": {"token": token}}
    answer = plane.admin.create(at("tokenreviews", api="authentication.k8s.io/v1"), review)
    return bool(answer.object["status"].get("authenticated"))


def looks(running: Running) -> float:
    _, text = running.get("/metrics")
    name = 'vestibule_operator_reconciles_total{controller="hosted",result="done"} '
    return sum(float(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))


def looked(environment: HostedEnvironment, running: Running) -> None:
    """A look that began after now."""
    for _ in range(2):  # one may be under way
        before = looks(running)
        environment.admin.patch(environment.path, {"metadata": {"annotations": {"test": str(before)}}}).object  # noqa: B018
        process.wait("a look", lambda before=before: looks(running) > before, 20)  # type: ignore[misc]


def served(environment: HostedEnvironment, namespace: str) -> bool:
    answer = environment.guest.admin.create(at("pods", namespace), LABELLED, dryRun="All")
    return mutated(answer.object)


def test_a_token_that_the_hosted_cluster_has_forgotten_is_recreated_at_once(
    environment: HostedEnvironment, operator: OperatorInstallation, tmp_path: Path
) -> None:
    guest = environment.guest
    old = guest.apiserver.token_key
    new = keypair.create(tmp_path / "new", bits=2048)
    running = operator.start(*HOSTED)  # the resync is minutes away
    environment.ask()
    with Kubelet(environment, tmp_path / "kubelet"):
        environment.wait("Available", "True", 60)
        first, text = kid(environment), token(environment)
        assert known(guest, text)

        # another key signs and the old one is still known: nothing to do
        sign_with(guest, tmp_path, new.private, new.public, old.cert)
        assert known(guest, text)
        environment.wait("GuestReachable", "True", 60)
        looked(environment, running)
        assert token(environment) == text

        # the old one is forgotten
        sign_with(guest, tmp_path, new.private, new.public)
        assert not known(guest, text)
        process.wait("a token by the new key", lambda: kid(environment) != first, 30)
        assert known(guest, token(environment))

        # whoever came after the change is served
        namespace = environment.pods()
        process.wait("a pod with its identity", lambda: served(environment, namespace), 40)

        # and it stays
        text = token(environment)
        environment.wait("Available", "True", 60)
        looked(environment, running)
        assert token(environment) == text
        environment.admin.delete(environment.path)
        environment.admin.wait_gone(environment.path)
    assert environment.owned() == []


RBAC = "rbac.authorization.k8s.io/v1"


def test_what_becomes_of_our_objects_in_a_hosted_cluster_is_repaired_at_once(
    environment: HostedEnvironment, operator: OperatorInstallation, tmp_path: Path
) -> None:
    admin = environment.guest.admin
    role = at("clusterroles", name=hypershift_webhooks.OURS, api=RBAC)
    binding = at("clusterrolebindings", name=hypershift_webhooks.OURS, api=RBAC)
    account = at("serviceaccounts", serving_certificate.GUEST_NAMESPACE, hypershift_webhooks.OURS)
    operator.start(*HOSTED)  # the resync is minutes away
    environment.ask()
    with Kubelet(environment, tmp_path / "kubelet"):
        environment.wait("Available", "True", 60)
        rules, subjects = admin.get(role).object["rules"], admin.get(binding).object["subjects"]

        admin.patch(role, {"rules": []}).object  # noqa: B018 - raises
        admin.wait(role, lambda found: found["rules"] == rules)
        admin.delete(role).object  # noqa: B018 - raises
        admin.wait(role)
        admin.patch(binding, {"subjects": []}).object  # noqa: B018 - raises
        admin.wait(binding, lambda found: found.get("subjects") == subjects)

        # with the account its token goes, too
        text = token(environment)
        admin.delete(account).object  # noqa: B018 - raises
        admin.wait(account)
        process.wait("a token of the new account", lambda: token(environment) != text, 30)
        assert known(environment.guest, token(environment))

        environment.admin.delete(environment.path)
        environment.admin.wait_gone(environment.path)
    assert environment.owned() == []
