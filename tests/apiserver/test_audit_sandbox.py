"""``vestibule audit`` on a cluster with sandboxes: a pod that came without its sandbox is listed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.sandbox_installation import INJECTION, configure, eventually, installation_of, label
from tests.apiserver.webhook_installation import WebhookInstallation
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]


@pytest.fixture
def installation(control_plane: ControlPlane, tmp_path: Path) -> Iterator[WebhookInstallation]:
    with installation_of(control_plane, tmp_path, "webhook-audit") as created:
        yield created


def audit(installation: WebhookInstallation, namespace: str) -> tuple[int, Json]:
    command = [
        *(sys.executable, "-m", "vestibule", "audit", "--kubeconfig", str(installation.plane.kubeconfig())),
        *("--settings", str(installation.settings_file), "--webhook-configuration", installation.name),
        *("-n", namespace, "-o", "json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_pod_without_its_sandbox_is_listed(installation: WebhookInstallation, namespace: str) -> None:
    label(installation, namespace, sandboxed="true")
    configure(installation, {"runtimeClassInjection": INJECTION, "failurePolicy": "Ignore"})
    served = eventually(installation, namespace, lambda pod: "runtimeClassName" in pod["spec"])
    body = {"metadata": {"name": "served"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    installation.plane.admin.create(at("pods", namespace), body).object  # noqa: B018 - raises
    assert audit(installation, namespace)[1]["missed"] == 0
    installation.replicas[-1].terminate()
    lost = {**body, "metadata": {"name": "lost"}}
    stored = installation.plane.admin.create(at("pods", namespace), lost).object
    assert "runtimeClassName" not in stored["spec"]

    code, report = audit(installation, namespace)

    assert code == 3
    (item,) = report["pods"]
    assert (item["name"], item["clouds"], item["cause"]) == ("lost", ["sandbox"], "Unknown")
    assert item["found"] == f"has no sandbox: its class would be {served['spec']['runtimeClassName']}"
