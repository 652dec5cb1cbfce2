"""``vestibule audit`` on a cluster with sandboxes: a pod that came without its sandbox is listed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.hall import Hall
from tests.apiserver.sandboxed import INJECTION, configure, eventually, hall_of, label
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]


@pytest.fixture
def hall(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Hall]:
    with hall_of(control_plane, tmp_path, "hall-audit") as made:
        yield made


def audit(hall: Hall, namespace: str) -> tuple[int, Json]:
    command = [
        *(sys.executable, "-m", "vestibule", "audit", "--kubeconfig", str(hall.plane.kubeconfig())),
        *("--settings", str(hall.settings_file), "--webhook-configuration", hall.name),
        *("-n", namespace, "-o", "json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_pod_without_its_sandbox_is_listed(hall: Hall, namespace: str) -> None:
    label(hall, namespace, sandboxed="true")
    configure(hall, {"runtimeClassInjection": INJECTION, "failurePolicy": "Ignore"})
    served = eventually(hall, namespace, lambda pod: "runtimeClassName" in pod["spec"])
    body = {"metadata": {"name": "served"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    hall.plane.admin.create(at("pods", namespace), body).object  # noqa: B018 - raises
    assert audit(hall, namespace)[1]["missed"] == 0
    hall.replicas[-1].terminate()
    lost = {**body, "metadata": {"name": "lost"}}
    kept = hall.plane.admin.create(at("pods", namespace), lost).object
    assert "runtimeClassName" not in kept["spec"]

    code, report = audit(hall, namespace)

    assert code == 3
    (item,) = report["pods"]
    assert (item["name"], item["clouds"], item["cause"]) == ("lost", ["sandbox"], "Unknown")
    assert item["found"] == f"has no sandbox: its class would be {served['spec']['runtimeClassName']}"
