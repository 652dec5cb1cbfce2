"""``vestibule migrate`` on a real cluster: another's installation is recognised and means the same here, its
workloads are compared, and nothing is written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.webhook_installation import path_of, present
from tests.migrate import charts
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
READER = "migrate:reader"


def migrate(kubeconfig: Path, *words: str) -> tuple[int, Json]:
    command = [sys.executable, "-m", "vestibule", "migrate", "--kubeconfig", str(kubeconfig), *words]
    done = subprocess.run([*command, "-o", "json"], capture_output=True, text=True, timeout=90, check=False)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def reader(control_plane: ControlPlane) -> Iterator[Path]:
    """Somebody who may read everything and write nothing."""
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]
    subject = {"apiGroup": RBAC, "kind": "User", "name": READER}
    role = charts.thing("ClusterRole", "migrate-reader", api=f"{RBAC}/v1", rules=rules)
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "migrate-reader"}
    binding = charts.thing(
        "ClusterRoleBinding", "migrate-reader", api=f"{RBAC}/v1", roleRef=reference, subjects=[subject]
    )
    for obj in (role, binding):
        control_plane.admin.apply(path_of(obj), obj, "test", force=True).object  # noqa: B018 - raises
    yield control_plane.kubeconfig(READER)
    for obj in (role, binding):
        control_plane.admin.delete(path_of(obj))


@pytest.fixture(scope="module")
def azure(control_plane: ControlPlane) -> Iterator[str]:
    """An installation of Azure Workload Identity, and the namespace of those who use it."""
    namespace = control_plane.namespace("migrate")
    objects = charts.azure("v1.5.1", "--audience=api://AzureADTokenExchangeUSGov")
    objects += [
        {**obj, "metadata": {**obj["metadata"], "namespace": namespace}} for obj in charts.azure_workloads()
    ]
    with present(control_plane, *objects):  # the registration goes first: it stops labelled pods
        yield namespace
    control_plane.admin.delete(at("namespaces", name=namespace))


def test_the_installation_is_recognised_and_its_settings_are_reproduced(
    control_plane: ControlPlane, azure: str, reader: Path
) -> None:
    mark = control_plane.audit.mark()

    code, report = migrate(reader, "--namespace", azure)

    (found,) = report["installations"]
    assert (code, found["program"], found["managed"]) == (0, "azwi", False)
    assert found["deployment"] == f"{charts.AZWI_SPACE}/azure-wi-webhook-controller-manager"
    assert report["settings"] == {
        "mode": "strict",
        "vocabularies": ["azwi"],
        "azwi": {
            "audience": "api://AzureADTokenExchangeUSGov",
            "tenantId": charts.TENANT,
            "cloud": "AzurePublicCloud",
            "proxyImage": "registry.example/azure/workload-identity/proxy:v1.5.1",
            "proxyInitImage": "registry.example/azure/workload-identity/proxy-init:v1.5.1",
            "proxyLogLevel": "info",
        },
        "webhook": {"failurePolicy": "Fail", "timeoutSeconds": 10},
    }
    assert found["command"][:4] == ["vestibule", "webhook", "--as", "azwi"]
    assert "ClusterRole azure-wi-webhook-controller-manager-role" in found["remove"]
    assert report["notLookedAt"] == []
    control_plane.audit.wait(since=mark, user=READER, resource="pods", verb="list")  # the last it asks for
    verbs = {event["verb"] for event in control_plane.audit.events(since=mark, user=READER)}
    assert verbs == {"get", "list"}


def test_workloads_are_compared_as_they_are(azure: str, reader: Path) -> None:
    _, report = migrate(reader, "--namespace", azure)

    assert report["serviceAccounts"] == {"azwi": 1}
    assert report["workloads"] == {"seen": 4, "served": 3, "sameInStrict": 3, "sameInBetter": 2}
    assert report["strict"] == []
    examples = {example for one in report["better"] for example in one["examples"]}
    assert examples == {f"Deployment {azure}/mistaken"}


def test_the_whole_cluster_is_read_when_no_namespace_is_named(azure: str, reader: Path) -> None:
    _, report = migrate(reader)

    # the webhook's own Deployment is there, too, and whatever else runs
    assert report["workloads"]["seen"] >= 5
    assert report["workloads"]["served"] >= 3


def test_who_may_not_read_configurations_is_reported(control_plane: ControlPlane) -> None:
    command = [sys.executable, "-m", "vestibule", "migrate"]
    command += ["--kubeconfig", str(control_plane.kubeconfig("migrate:nobody"))]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    assert "error: listing mutatingwebhookconfigurations" in done.stderr
    assert "Traceback" not in done.stderr
