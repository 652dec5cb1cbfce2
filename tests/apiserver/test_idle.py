"""Keep-alive: however long the API server leaves a connection idle, its next review is not lost."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.balancer import Balancer
from tests.apiserver.hall import Hall, wait_called
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

pytestmark = pytest.mark.waits

GAPS = (60.0, 75.0, 85.0, 88.0, 89.0, 89.5, 90.0, 90.5, 91.0, 92.0, 95.0)


@pytest.mark.slow
def test_no_idle_time_around_the_api_servers_own_loses_a_review(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    hall = Hall(control_plane, tmp_path, "hall-idle")
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
        hall.apply()
        replica = hall.start()
        hall.register(replica.port)
        wait_called(hall)
        control_plane.admin.delete(hall.configuration)
        hooks = []
        for door, space in zip(doors, spaces, strict=True):
            door.__enter__()
            door.add(replica.port, lambda: True)
            entry = hall.register(door.port)  # one door per idle time: connections are kept per address
            hooks.append(
                {
                    **entry,
                    "name": f"{space}.vestibule.dev",
                    "failurePolicy": "Fail",
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space}},
                }
            )
        thing = {**hall.objects["MutatingWebhookConfiguration"], "webhooks": hooks}
        control_plane.admin.delete(hall.configuration)
        control_plane.admin.apply(hall.configuration, thing, "idle", force=True).object  # noqa: B018 - raises

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
        hall.close()
        for door in doors:
            if door.port:
                door.__exit__()
        for space in spaces:
            control_plane.admin.delete(at("namespaces", name=space))
