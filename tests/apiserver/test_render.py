"""What ``render --kubeconfig`` prints is what this cluster takes; what it says about the cluster is true."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver.webhook_installation import path_of, present
from tests.rig.client import Client, at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes

Json = dict[str, Any]
REGISTRATION = "admissionregistration.k8s.io/v1"


def render(kubeconfig: Path, settings: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vestibule", "render", "--settings", str(settings), *more]
    command += ["--kubeconfig", str(kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def settings(folder: Path, namespace: str = "vestibule-system", **data: Any) -> Path:
    """A settings file for an installation that has its own names."""
    install = {"name": f"render-{namespace}"[:50], "namespace": namespace, **data.pop("install", {})}
    path = folder / "settings.json"
    path.write_text(json.dumps({**data, "install": install}))
    return path


def warnings(result: subprocess.CompletedProcess[str]) -> list[str]:
    assert result.returncode == 0, result.stderr
    lines = result.stderr.splitlines()
    assert all(line.startswith("warning: ") for line in lines), lines
    return [line.removeprefix("warning: ") for line in lines]


def documents(result: subprocess.CompletedProcess[str]) -> list[Json]:
    return list(yaml.safe_load_all(result.stdout))


def dry_run(admin: Client, objects: list[Json]) -> dict[str, str]:
    """What the API server has against the objects, and each warning of it."""
    output: dict[str, str] = {}
    for obj in objects:
        answer = admin.apply(path_of(obj), obj, "render", dryRun="All", fieldValidation="Strict")
        if answer.status not in (200, 201) or answer.warnings:
            output[f"{obj['kind']} {obj['metadata']['name']}"] = f"{answer.message} {answer.warnings}"
    return output


@pytest.mark.parametrize("mode", ["better", "strict"])
def test_everything_that_is_printed_is_taken_as_it_is(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, mode: str
) -> None:
    exclude = {"namespaces": ["infra-*"], "hostNetwork": True}
    file = settings(tmp_path, namespace, mode=mode, exclude=exclude)

    result = render(control_plane.kubeconfig(), file)

    objects = documents(result)
    assert {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} <= {o["kind"] for o in objects}
    assert len(objects) == 26
    assert dry_run(control_plane.admin, objects) == {}


def test_json_is_the_plain_renders_where_the_cluster_has_all_it_needs(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    file = settings(tmp_path, "render-json")
    command = [sys.executable, "-m", "vestibule", "render", "--settings", str(file), "-o", "json"]
    plain = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    requested = render(control_plane.kubeconfig(), file, "-o", "json")

    assert warnings(requested) == []
    assert requested.stdout == plain.stdout


def test_an_installation_of_ours_is_rendered_again_without_a_word(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    file = settings(tmp_path, "render-again", webhook={"objectSelector": {"never": "matches"}})
    first = render(control_plane.kubeconfig(), file)
    wide = {
        "Namespace", "ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    }  # fmt: skip
    with contextlib.ExitStack() as existing:
        for obj in documents(first):
            if obj["kind"] in wide:
                existing.enter_context(present(control_plane, obj))

        again = render(control_plane.kubeconfig(), file)

    assert warnings(first) == warnings(again) == []
    assert first.stdout == again.stdout


@pytest.mark.parametrize("kind", ["MutatingWebhookConfiguration", "ClusterRole"])
def test_what_another_user_made_is_never_overwritten(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, kind: str
) -> None:
    file = settings(tmp_path, namespace)
    name = json.loads(file.read_text())["install"]["name"]
    api = REGISTRATION if kind == "MutatingWebhookConfiguration" else "rbac.authorization.k8s.io/v1"
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    foreign = {"apiVersion": api, "kind": kind, "metadata": {"name": name, "labels": labels}}

    with present(control_plane, foreign):
        result = render(control_plane.kubeconfig(), file)

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: {kind} {name}: metadata.labels[app.kubernetes.io/managed-by]: is 'Helm', want 'vestibule': "
        "it exists and is not ours, and we overwrite nothing that is not ours; remove it, or choose another "
        "install.name\n"
    )


def test_a_namespace_and_a_webhook_that_are_there_already_are_reported(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    profile = {"pod-security.kubernetes.io/enforce": "baseline"}
    namespace = control_plane.namespace("render-taken", labels=profile)
    hook = {
        "name": "mutate.cwii.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/mutate"},
        "failurePolicy": "Ignore",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "nowhere"}},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        ],
        "sideEffects": "None",
    }
    cwii = {
        "apiVersion": REGISTRATION,
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "cwii"},
        "webhooks": [hook],
    }

    with present(control_plane, cwii):
        message = warnings(render(control_plane.kubeconfig(), settings(tmp_path, namespace)))

    control_plane.admin.delete(at("namespaces", name=namespace))
    owner, level, neighbour = message
    assert owner.startswith(f"Namespace {namespace}: exists and is not ours")
    assert level.startswith(f"Namespace {namespace}: pod-security.kubernetes.io/enforce is 'baseline'")
    assert neighbour.startswith("MutatingWebhookConfiguration cwii: mutate.cwii.dev is cwii")


def test_what_may_not_be_read_is_reported_and_the_rest_is_printed(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    file = settings(tmp_path, "render-poor")

    result = render(control_plane.kubeconfig("render:nobody"), file)

    message = warnings(result)
    assert len(documents(result)) == 26
    assert (
        len(message) == 11
    )  # ten objects, four of them of who issues certificates, and the list of registrations
    assert all(line.startswith("not read: reading /ap") and "forbidden" in line for line in message)


def test_a_cluster_that_refuses_discovery_is_an_error(control_plane: ControlPlane, tmp_path: Path) -> None:
    cluster = {"server": control_plane.url, "certificate-authority": str(control_plane.authority.ca)}
    anonymous = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
    }
    (tmp_path / "config").write_text(yaml.safe_dump(anonymous))

    result = render(tmp_path / "config", settings(tmp_path))

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: reading /apis: forbidden")
    assert "Traceback" not in result.stderr


def certificates(plane: ControlPlane) -> None:
    """Serve the kinds of cert-manager, without their schema."""
    for kind, plural in (("Certificate", "certificates"), ("Issuer", "issuers")):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        spec = {
            "group": "cert-manager.io",
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [version],
        }
        path = at("customresourcedefinitions", api="apiextensions.k8s.io/v1")
        name = f"{plural}.cert-manager.io"
        plane.admin.create(path, {"metadata": {"name": name}, "spec": spec}).object  # noqa: B018 - raises
        plane.admin.wait(at(plural, "default", api="cert-manager.io/v1"))


POORER = {
    # a real API server that serves as little as an old one does
    "runtime-config": "policy/v1=false,admissionregistration.k8s.io/v1/validatingadmissionpolicies=false,"
    "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings=false",
    "disable-admission-plugins": "ValidatingAdmissionPolicy",
}


@pytest.mark.slow
def test_a_cluster_that_serves_less_gets_less_and_is_reported_what(
    private_control_plane: Planes, tmp_path: Path
) -> None:
    plane = private_control_plane(controllers=False, flags=POORER)
    namespace = plane.namespace("render")
    file = settings(tmp_path, namespace, install={"certificate": "cert-manager"})

    without = render(plane.kubeconfig(), file)
    certificates(plane)
    result = render(plane.kubeconfig(), file)

    assert (without.returncode, without.stdout) == (2, "")
    assert without.stderr.startswith("error: settings: install.certificate: is 'cert-manager', and the ")
    budget, policy, binding, taken = warnings(result)
    minor, name = plane.version.split(".")[1], f"render-{namespace}"
    assert budget == (
        f"PodDisruptionBudget {namespace}/{name}: left out, Kubernetes 1.{minor} does not serve policy/v1 "
        "PodDisruptionBudget, want 1.21 or newer: a drain may take every replica at once"
    )
    assert policy.startswith(f"ValidatingAdmissionPolicy {name}-guard: left out, Kubernetes 1.{minor} does")
    assert binding.startswith(f"ValidatingAdmissionPolicyBinding {name}-guard: left out")
    assert taken.startswith(f"Namespace {namespace}: exists and is not ours")
    objects = documents(result)
    assert [obj["kind"] for obj in objects] == [
        "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "Issuer",
        "Certificate", "Issuer", "Certificate", "Deployment", "Service", "NetworkPolicy",
        "MutatingWebhookConfiguration",
    ]  # fmt: skip
    assert dry_run(plane.admin, objects) == {}
