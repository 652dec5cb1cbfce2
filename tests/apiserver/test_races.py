"""A ServiceAccount created a moment before its pod is never missed, with the watch alive or cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.hall import Hall, wait_called
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.faults import Status

Json = dict[str, Any]


def create_pair(hall: Hall, namespace: str, number: int) -> bool:
    """Account, then at once its pod; whether the pod got that account's role."""
    admin = hall.plane.admin
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
    hall = Hall(control_plane, tmp_path, "hall-races")
    try:
        hall.apply()
        hall.register(hall.start().port, failurePolicy="Fail")
        wait_called(hall)

        missed = [number for number in range(1000) if not create_pair(hall, namespace, number)]

        assert missed == []
        assert hall.replicas[0].metric("vestibule_admission_requests_total", 'outcome="inject"') >= 1000
    finally:
        hall.close()


@pytest.mark.slow
def test_two_hundred_fresh_accounts_while_the_watch_is_cut(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    hall = Hall(control_plane, tmp_path, "hall-cut")
    with control_plane.proxy(hall.user, ()) as proxy:
        hall.kubeconfig = control_plane.kubeconfig(hall.user, url=proxy.url)
        try:
            hall.apply()
            replica = hall.start()
            hall.register(replica.port, failurePolicy="Fail")
            wait_called(hall)
            rule = proxy.inject(Status(503), path=r"watch=true|limit=500")
            proxy.cut()

            missed = [number for number in range(200) if not create_pair(hall, namespace, number)]

            assert missed == []
            assert rule.hits > 0
            assert replica.metric("vestibule_lookups_total", 'kind="ServiceAccount",result="found"') >= 200
        finally:
            hall.close()
