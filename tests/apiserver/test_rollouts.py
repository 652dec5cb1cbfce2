"""Rolling restarts and certificate rotations under load through the API server: not one admission fails."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.balancer import Balancer, Creates
from tests.apiserver.webhook_installation import WebhookInstallation, wait_called
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

pytestmark = pytest.mark.waits

Json = dict[str, Any]
RESTARTS = 20
LEAVES = 20
AUTHORITIES = 3


def until(condition: Callable[[], object], what: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not in {seconds} s: {what}"
        time.sleep(0.05)


def account(plane: ControlPlane, namespace: str) -> None:
    annotations = {
        "cwii.dev/aws-inject": "true",
        "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/app",
    }
    obj = {"metadata": {"name": "app", "annotations": annotations}}
    plane.admin.create(at("serviceaccounts", namespace), obj).object  # noqa: B018 - raises


@pytest.mark.slow
def test_twenty_rolling_restarts_and_twenty_leaves_lose_no_admission(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    account(control_plane, namespace)
    installation = WebhookInstallation(
        control_plane, tmp_path, "webhook-rolling", serving={"drainSeconds": 1.2}
    )
    try:
        installation.apply()
        with Balancer() as balancer:
            serving = [installation.start(), installation.start()]
            for replica in serving:
                balancer.add(replica.port, replica.ready)
            installation.register(balancer.port, failurePolicy="Fail", timeoutSeconds=5)
            wait_called(installation)
            with Creates(control_plane.admin, namespace) as load:
                for number in range(RESTARTS):
                    new = installation.start()
                    balancer.add(new.port, new.ready)
                    old = serving.pop(0)
                    serving.append(new)
                    assert old.terminate() == 0
                    balancer.remove(old.port)
                    if number < LEAVES:
                        installation.mount.write_pair(installation.authority.leaf())
                until(lambda: load.sent > 500, "enough load")

            assert load.failures == []
    finally:
        installation.close()


@pytest.mark.slow
def test_our_own_ca_is_rotated_three_times_without_a_failed_admission(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    account(control_plane, namespace)
    own = {"names": ["127.0.0.1"], "authorityLife": "24s", "leafLife": "18s", "overlap": "2s"}
    installation = WebhookInstallation(
        control_plane, tmp_path, "webhook-own", install={"certificate": "self", "caBundle": ""}
    )
    installation.change_settings(selfCertificate=own)
    try:
        installation.apply()
        with Balancer() as balancer:
            installation.register(balancer.port, failurePolicy="Fail", timeoutSeconds=5)
            for _ in range(2):
                replica = installation.start(own_certificate=True)
                balancer.add(replica.port, replica.ready)
            wait_called(installation)

            def bundle() -> list[str]:
                found = control_plane.admin.get(installation.configuration).object["webhooks"][0][
                    "clientConfig"
                ]
                text = base64.b64decode(found.get("caBundle", "")).decode()
                return text.split("-----BEGIN CERTIFICATE-----")[1:]

            seen: set[str] = set(bundle())
            with Creates(control_plane.admin, namespace) as load:

                def enough() -> bool:
                    seen.update(bundle())
                    return len(seen) > AUTHORITIES

                until(enough, "three new CAs", 120)
                until(lambda: load.sent > 500, "enough load")

            assert load.failures == []
            assert "PRIVATE KEY" not in installation.replicas[0].log.read_text()
    finally:
        installation.close()
