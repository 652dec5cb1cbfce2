"""The check of the final pod, on the API server alone: no webhook of ours is registered here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.apiserver.webhook_installation import WebhookInstallation
from tests.rig.client import Answer, at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
MESSAGE = "asks for an identity of AWS"
ASKS = {"cwii.dev/aws-inject": "true"}


@contextmanager
def check(plane: ControlPlane, folder: Path, action: str) -> Iterator[None]:
    """The policy as rendered; gone afterwards, since other tests make pods on the same API server."""
    installation = WebhookInstallation(
        plane, folder, f"final-{action}", install={"finalCheck": action, "guard": False}
    )
    installation.apply("Namespace", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    try:
        yield
    finally:
        for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            plane.admin.delete(at(kind, None, f"final-{action}-final", api="admissionregistration.k8s.io/v1"))
        installation.close()


def create(plane: ControlPlane, namespace: str, account: str = "default", **meta: Any) -> Answer:
    pod = {
        "metadata": {"generateName": "p-", **meta},
        "spec": {"serviceAccountName": account, "containers": [{"name": "app", "image": "i"}]},
    }
    return plane.admin.create(at("pods", namespace), pod, dryRun="All")


def warnings(answer: Answer) -> str:
    return " ".join(answer.headers.get_all("Warning") or ())


def until_in_force(plane: ControlPlane, namespace: str, action: str) -> None:
    deadline = time.monotonic() + 30
    while True:
        answer = create(plane, namespace, annotations=ASKS)
        if MESSAGE in (warnings(answer) if action == "warn" else answer.body.decode()):
            return
        assert time.monotonic() < deadline, answer.body[:300]
        time.sleep(0.1)


def account(plane: ControlPlane, namespace: str, name: str, annotations: dict[str, str]) -> None:
    meta = {"name": name, "annotations": annotations}
    assert plane.admin.create(at("serviceaccounts", namespace), {"metadata": meta}).status == 201


def test_a_pod_that_asked_and_has_nothing_is_warned_about(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with check(control_plane, tmp_path, "warn"):
        account(control_plane, namespace, "asks", ASKS)
        account(control_plane, namespace, "silent", {})
        until_in_force(control_plane, namespace, "warn")

        by_account = create(control_plane, namespace, "asks")
        nobody = create(control_plane, namespace, "silent")
        declined = create(control_plane, namespace, "asks", annotations={"cwii.dev/aws-inject": "false"})
        served = create(control_plane, namespace, "asks", annotations={"cwii.dev/injected": "aws,gcp"})

        assert by_account.status == 201
        assert MESSAGE in warnings(by_account)
        assert [MESSAGE in warnings(answer) for answer in (nobody, declined, served)] == [False] * 3


def test_it_refuses_where_the_administrator_wants_it(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with check(control_plane, tmp_path, "deny"):
        until_in_force(control_plane, namespace, "deny")
        refused = create(control_plane, namespace, annotations=ASKS)
        passed = create(control_plane, namespace)

        assert (refused.status, passed.status) == (403, 201)
        assert MESSAGE in refused.body.decode()


def test_what_stands_on_the_namespace_counts(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with check(control_plane, tmp_path, "warn"):
        until_in_force(control_plane, namespace, "warn")
        before = create(control_plane, namespace)
        control_plane.admin.patch(at("namespaces", None, namespace), {"metadata": {"annotations": ASKS}})
        deadline = time.monotonic() + 15
        while MESSAGE not in warnings(create(control_plane, namespace)):
            assert time.monotonic() < deadline
            time.sleep(0.1)

        assert MESSAGE not in warnings(before)
