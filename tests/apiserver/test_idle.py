"""Keep-alive: however long the API server leaves a connection idle, its next review is not lost."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.balancer import Balancer
from tests.apiserver.webhook_installation import WebhookInstallation, wait_called
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

pytestmark = pytest.mark.waits

GAPS = (60.0, 75.0, 85.0, 88.0, 89.0, 89.5, 90.0, 90.5, 91.0, 92.0, 95.0)


@pytest.mark.slow
def test_no_idle_time_around_the_api_servers_own_loses_a_review(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    installation = WebhookInstallation(control_plane, tmp_path, "webhook-idle")
    annotations = {
        "cwii.dev/aws-inject": "true",
        "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/app",
    }
    pod: dict[str, Any] = {
        "metadata": {"generateName": "idle-", "annotations": annotations},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    spaces = [control_plane.namespace(f"idle-{number}") for number in range(len(GAPS))]
    doors = [Balancer() for _ in GAPS]
    failures: list[str] = []
    try:
        installation.apply()
        replica = installation.start()
        installation.register(replica.port)
        wait_called(installation)
        control_plane.admin.delete(installation.configuration)
        hooks = []
        for creator, space in zip(doors, spaces, strict=True):
            creator.__enter__()
            creator.add(replica.port, lambda: True)
            entry = installation.register(
                creator.port
            )  # one door per idle time: connections are kept per address
            hooks.append(
                {
                    **entry,
                    "name": f"{space}.vestibule.dev",
                    "failurePolicy": "Fail",
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space}},
                }
            )
        obj = {**installation.objects["MutatingWebhookConfiguration"], "webhooks": hooks}
        control_plane.admin.delete(installation.configuration)
        control_plane.admin.apply(installation.configuration, obj, "idle", force=True).object  # noqa: B018 - raises

        def create(space: str, what: str) -> None:
            answer = control_plane.admin.create(at("pods", space), pod, dryRun="All")
            if answer.status != 201 or "env" not in answer.object["spec"]["containers"][0]:
                failures.append(f"{what}: {answer.status} {answer.message[:200]}")

        def story(space: str, gap: float) -> None:
            deadline = time.monotonic() + 20
            before = len(failures)
            create(space, "first")
            while (
                len(failures) > before and time.monotonic() < deadline
            ):  # until the registration is in force
                del failures[before:]
                time.sleep(0.2)
                create(space, "first")
            time.sleep(gap)
            create(space, f"after {gap} s")

        threads = [
            threading.Thread(target=story, args=pair, daemon=True) for pair in zip(spaces, GAPS, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(180)
            assert not thread.is_alive()

        assert failures == []
    finally:
        installation.close()
        for creator in doors:
            if creator.port:
                creator.__exit__()
        for space in spaces:
            control_plane.admin.delete(at("namespaces", name=space))
