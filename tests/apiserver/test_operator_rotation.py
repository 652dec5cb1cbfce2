"""The operator's own CA and leaf rotate under load: every pod is admitted, with `failurePolicy: Fail`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.admitted_pod import AWS
from tests.apiserver.operator_installation import OperatorInstallation, operator_installed
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from vestibule.pki import tls_secret

pytestmark = pytest.mark.slow

Json = dict[str, Any]
POD = {
    "metadata": {"name": "p", "annotations": AWS},
    "spec": {"containers": [{"name": "app", "image": "a"}]},
}
ROTATIONS = 2


@pytest.fixture
def environment(control_plane: ControlPlane, tmp_path: Path) -> Iterator[OperatorInstallation]:
    with operator_installed(control_plane, tmp_path) as created:
        yield created


def bundle(environment: OperatorInstallation) -> list[str]:
    """The CAs that the API server trusts."""
    found = environment.get("MutatingWebhookConfiguration")
    return tls_secret.trusted_cas(found["webhooks"][0]) if found else []


@pytest.mark.slow
def test_authorities_and_leaves_change_and_no_pod_is_lost(
    environment: OperatorInstallation, namespace: str
) -> None:
    # a CA is replaced after 16 s, 3 s after it was published; replicas get the files a second late
    lives = {"authorityLife": "24s", "leafLife": "9s", "overlap": "3s"}
    selected = {"webhook": {"namespaceSelector": {"kubernetes.io/metadata.name": namespace}}}
    environment.ask(failurePolicy="Fail", certificate=lives, settings=selected)
    environment.start()
    environment.serve()
    environment.wait("Available", "True")

    def served() -> bool:
        pod = environment.admin.create(at("pods", namespace), POD, dryRun="All").object
        return "cwii.dev/injected" in pod["metadata"]["annotations"]

    process.wait("a pod with its identity", served, 10)
    stop, errors, leaves = threading.Event(), list[str](), set[str]()
    seen: set[str] = set()

    def kubelet() -> None:
        while not stop.wait(1.0):
            leaves.add(environment.refresh())

    def load() -> None:
        client = environment.plane.client("rig:load", ["system:masters"])
        while not stop.is_set():
            answer = client.create(at("pods", namespace), POD, dryRun="All")
            injected = (
                answer.status == 201 and "cwii.dev/injected" in answer.object["metadata"]["annotations"]
            )
            if not injected:
                errors.append(answer.message[:300])
            time.sleep(0.02)

    threads = [threading.Thread(target=work) for work in (kubelet, load)]
    for one in threads:
        one.start()
    try:

        def rotated() -> bool:
            seen.update(bundle(environment))
            return len(seen) > ROTATIONS and len(leaves) > 3

        process.wait("new authorities", rotated, 90, every=0.3)
    finally:
        stop.set()
        for one in threads:
            one.join(10)

    assert errors == []
