"""A ServiceAccount created a moment before its pod is never missed, with the watch alive or cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.webhook_installation import WebhookInstallation, wait_called
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.faults import Status

Json = dict[str, Any]


def create_pair(installation: WebhookInstallation, namespace: str, number: int) -> bool:
    """Account, then at once its pod; whether the pod got that account's role."""
    admin = installation.plane.admin
    name = f"app-{number}"
    role = f"arn:aws:iam::123456789012:role/{name}"
    annotations = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": role}
    account = {"metadata": {"name": name, "annotations": annotations}}
    admin.create(at("serviceaccounts", namespace), account).object  # noqa: B018 - raises
    pod = {
        "metadata": {"name": name},
        "spec": {"serviceAccountName": name, "containers": [{"name": "a", "image": "a"}]},
    }
    created = admin.create(at("pods", namespace), pod, dryRun="All").object
    env = created["spec"]["containers"][0].get("env", [])
    return {"name": "AWS_ROLE_ARN", "value": role} in env


@pytest.mark.slow
def test_a_thousand_fresh_accounts_and_none_is_missed(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    installation = WebhookInstallation(control_plane, tmp_path, "webhook-races")
    try:
        installation.apply()
        installation.register(installation.start().port, failurePolicy="Fail")
        wait_called(installation)

        missed = [number for number in range(1000) if not create_pair(installation, namespace, number)]

        assert missed == []
        assert (
            installation.replicas[0].metric("vestibule_admission_requests_total", 'outcome="inject"') >= 1000
        )
    finally:
        installation.close()


@pytest.mark.slow
def test_two_hundred_fresh_accounts_while_the_watch_is_cut(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    installation = WebhookInstallation(control_plane, tmp_path, "webhook-cut")
    with control_plane.proxy(installation.user, ()) as proxy:
        installation.kubeconfig = control_plane.kubeconfig(installation.user, url=proxy.url)
        try:
            installation.apply()
            replica = installation.start()
            installation.register(replica.port, failurePolicy="Fail")
            wait_called(installation)
            rule = proxy.inject(Status(503), path=r"watch=true|limit=500")
            proxy.cut()

            missed = [number for number in range(200) if not create_pair(installation, namespace, number)]

            assert missed == []
            assert rule.hits > 0
            assert replica.metric("vestibule_lookups_total", 'kind="ServiceAccount",result="found"') >= 200
        finally:
            installation.close()
