"""Rolling restarts and certificate rotations under load through the API server: not one admission fails."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.balancer import Balancer, Creates
from tests.apiserver.hall import Hall, wait_called
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
    thing = {"metadata": {"name": "app", "annotations": annotations}}
    plane.admin.create(at("serviceaccounts", namespace), thing).object  # noqa: B018 - raises


@pytest.mark.slow
def test_twenty_rolling_restarts_and_twenty_leaves_lose_no_admission(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    account(control_plane, namespace)
    hall = Hall(control_plane, tmp_path, "hall-rolling", serving={"drainSeconds": 1.2})
    try:
        hall.apply()
        with Balancer() as balancer:
            serving = [hall.start(), hall.start()]
            for replica in serving:
                balancer.add(replica.port, replica.ready)
            hall.register(balancer.port, failurePolicy="Fail", timeoutSeconds=5)
            wait_called(hall)
            with Creates(control_plane.admin, namespace) as load:
                for number in range(RESTARTS):
                    new = hall.start()
                    balancer.add(new.port, new.ready)
                    old = serving.pop(0)
                    serving.append(new)
                    assert old.terminate() == 0
                    balancer.remove(old.port)
                    if number < LEAVES:
                        hall.mount.write_pair(hall.authority.leaf())
                until(lambda: load.sent > 500, "enough load")

            assert load.failures == []
    finally:
        hall.close()


@pytest.mark.slow
def test_our_own_ca_is_rotated_three_times_without_a_failed_admission(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    account(control_plane, namespace)
    own = {"names": ["127.0.0.1"], "authorityLife": "24s", "leafLife": "18s", "overlap": "2s"}
    hall = Hall(control_plane, tmp_path, "hall-own", install={"certificate": "self", "caBundle": ""})
    hall.change_settings(selfCertificate=own)
    try:
        hall.apply()
        with Balancer() as balancer:
            hall.register(balancer.port, failurePolicy="Fail", timeoutSeconds=5)
            for _ in range(2):
                replica = hall.start(own_certificate=True)
                balancer.add(replica.port, replica.ready)
            wait_called(hall)

            def bundle() -> list[str]:
                found = control_plane.admin.get(hall.configuration).object["webhooks"][0]["clientConfig"]
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
            assert "PRIVATE KEY" not in hall.replicas[0].log.read_text()
    finally:
        hall.close()
