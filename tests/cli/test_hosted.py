"""``render --hosted`` as a person meets it: files in, objects of two clusters out, and what is refused."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.vectors.hypershift_given import HOSTED, deployment, secrets
from vestibule.operator.controllers.hosted import rollout
from vestibule.operator.controllers.hosted.hypershift_webhooks import AZURE

Json = dict[str, Any]
KUBEVIRT = {**HOSTED, "spec": {**HOSTED["spec"], "platform": {"type": "KubeVirt"}}}
TENANT: Json = {
    "apiVersion": "kamaji.clastix.io/v1alpha1",
    "kind": "TenantControlPlane",
    "metadata": {"name": "t1", "namespace": "tenants"},
    "spec": {},
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vestibule", "render", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def write(path: Path, *manifests: Json) -> str:
    path.write_text(yaml.safe_dump_all([copy.deepcopy(one) for one in manifests]))
    return str(path)


def objects(text: str) -> list[Json]:
    return [one for one in yaml.safe_load_all(text) if one]


def test_the_second_time_with_what_was_printed_the_same_is_printed(tmp_path: Path) -> None:
    given = write(tmp_path / "given.yaml", KUBEVIRT, *secrets().values())
    first = run("--hosted", "hypershift", "-f", given, "--tenant-id", "t", "--part", "management")
    stored = tmp_path / "kept.yaml"
    stored.write_text(first.stdout)
    second = run(
        "--hosted", "auto", "-f", given, "-f", str(stored), "--tenant-id", "t", "--part", "management"
    )

    assert (first.returncode, second.returncode) == (0, 0), second.stderr
    assert first.stdout == second.stdout
    assert {one["metadata"]["namespace"] for one in objects(first.stdout)} == {"clusters-hcp"}
    assert "kube-apiserver" not in [one["metadata"]["name"] for one in objects(first.stdout)]


def test_a_service_that_makes_hypershift_delete_the_configuration_is_named(tmp_path: Path) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "workload", "namespace": "clusters-hcp"},
        "spec": {},
    }
    alone = run("--hosted", "hypershift", "-f", write(tmp_path / "a.yaml", KUBEVIRT, *secrets().values()))
    adjacent = run(
        "--hosted", "hypershift", "-f", write(tmp_path / "b.yaml", KUBEVIRT, service, *secrets().values())
    )

    assert "HyperShift deletes" not in alone.stderr
    assert (
        "HyperShift deletes the MutatingWebhookConfiguration for https://workload-identity" in adjacent.stderr
    )


def test_the_parts_are_for_one_cluster_each(tmp_path: Path) -> None:
    given = write(tmp_path / "given.yaml", KUBEVIRT, *secrets().values())
    guest = run("--hosted", "hypershift", "-f", given, "--part", "guest")

    kinds = [one["kind"] for one in objects(guest.stdout)]
    assert kinds == [
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "MutatingWebhookConfiguration",
    ]


def test_a_control_plane_that_has_the_webhook_gets_nothing(tmp_path: Path) -> None:
    existing = deployment(HOSTED)
    existing["spec"]["template"]["spec"]["containers"].append({"name": "azure-workload-identity-webhook"})
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "azure-workload-identity-webhook"},
    }
    given = write(tmp_path / "given.yaml", HOSTED, existing, configuration)
    auto = run("--hosted", "hypershift", "-f", given)
    taken = run("--hosted", "hypershift", "-f", given, "--attach", "deployment")

    assert (auto.returncode, objects(auto.stdout)) == (0, [])
    assert "is part of the control plane: nothing to apply" in auto.stderr
    assert taken.returncode == 2
    assert "two webhooks would run" in taken.stderr


def test_a_sidecar_is_an_entry_in_the_owners_own_object(tmp_path: Path) -> None:
    printed = run(
        "--hosted", "kamaji", "-f", write(tmp_path / "t.yaml", TENANT), "--attach", "sidecar", "--part",
        "management",
    )  # fmt: skip

    (tenant,) = [one for one in objects(printed.stdout) if one["kind"] == "TenantControlPlane"]
    (container,) = tenant["spec"]["controlPlane"]["deployment"]["additionalContainers"]
    assert container["args"][:4] == ["webhook", "--as", "azwi", "--addr=127.0.0.1:9443"]
    assert "Secret t1-ca was not given" in printed.stderr


PAYLOAD: Json = {
    "apiVersion": "image.openshift.io/v1",
    "kind": "ImageStream",
    "metadata": {"name": "4.22.1"},
    "spec": {
        "tags": [
            {"name": AZURE.name, "from": {"kind": "DockerImage", "name": "quay.io/ocp/azwi@sha256:cccc"}}
        ]
    },
}
AVAILABLE = {**HOSTED, "spec": {**HOSTED["spec"], "controllerAvailabilityPolicy": "HighlyAvailable"}}


def test_who_owns_the_api_server_gets_the_sidecar_of_the_release(tmp_path: Path) -> None:
    given = write(tmp_path / "given.yaml", AVAILABLE, deployment(HOSTED), PAYLOAD, *secrets().values())
    words = ("--hosted", "hypershift", "-f", given, "--attach", "sidecar")
    printed = run(*words)
    stored = tmp_path / "kept.yaml"
    stored.write_text(run(*words, "--part", "management").stdout)
    bare = write(tmp_path / "bare.yaml", AVAILABLE, PAYLOAD, *secrets().values())
    first, again = (
        run(
            "--hosted",
            "hypershift",
            "-f",
            bare,
            "-f",
            str(stored),
            "--attach",
            "sidecar",
            "--part",
            "management",
        )
        for _ in range(2)
    )

    assert printed.returncode == 0, printed.stderr
    found = objects(printed.stdout)
    assert [one["kind"] for one in found] == [
        *("Secret", "Secret", "Deployment"),
        *("ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration"),
    ]
    spec = found[2]["spec"]
    container = spec["template"]["spec"]["containers"][-1]
    assert (container["name"], container["image"]) == (AZURE.name, "quay.io/ocp/azwi@sha256:cccc")
    assert spec["replicas"] == 3
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert len(spec["template"]["metadata"]["annotations"][rollout.CONFIG_HASH]) > 8
    assert "restarts the API server" in printed.stderr
    assert stored.read_text() == first.stdout == again.stdout


def _owned() -> Json:
    existing = deployment(HOSTED)
    owner = {"kind": "HostedControlPlane", "name": "hcp", "controller": True}
    existing["metadata"]["ownerReferences"] = [owner]
    return existing


NO_SIDECAR: dict[str, tuple[list[Json], str]] = {
    "a Deployment of another controller": (
        [HOSTED, _owned(), PAYLOAD],
        "a Deployment that another controller owns is not patched",
    ),
    "a platform without a webhook": ([KUBEVIRT, deployment(HOSTED), PAYLOAD], "want --attach deployment"),
    "no payload": (
        [HOSTED, deployment(HOSTED)],
        "has 0 ImageStreams, want one: image-references of registry.example/ocp/release:4.22.1",
    ),
    "a payload without the image": (
        [HOSTED, deployment(HOSTED), {**PAYLOAD, "spec": {"tags": []}}],
        f"release 4.22.1 has no image {AZURE.name}: nothing is attached",
    ),
    "no CA": ([HOSTED, deployment(HOSTED), PAYLOAD], "data[ca.crt], data[ca.key]"),
}


@pytest.mark.parametrize("sentence", NO_SIDECAR)
def test_a_sidecar_that_cannot_be_is_one_error(tmp_path: Path, sentence: str) -> None:
    given, words = NO_SIDECAR[sentence]
    more = [] if sentence == "no CA" else list(secrets().values())
    refused = run(
        "--hosted", "hypershift", "-f", write(tmp_path / "x.yaml", *given, *more), "--attach", "sidecar"
    )

    assert (refused.returncode, refused.stdout) == (2, "")
    assert words in refused.stderr


REFUSED = {
    "no control plane": (["--hosted", "auto"], "want one control plane of platform auto"),
    "another flavour": (["--hosted", "k0smotron"], "has none, want one control plane of platform k0smotron"),
    "a way that there is not": (
        ["--hosted", "hypershift", "--attach", "sidecar"],
        "a Deployment that another controller owns is not patched",
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_is_one_error(tmp_path: Path, sentence: str) -> None:
    arguments, words = REFUSED[sentence]
    file = write(tmp_path / "x.yaml", *(secrets().values() if sentence == "no control plane" else [KUBEVIRT]))
    refused = run(*arguments, "-f", file)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert words in refused.stderr
