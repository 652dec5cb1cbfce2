"""Another webhook's installation with our process in it: its rights, its registration, its command line."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver import upstream_installation
from tests.apiserver.upstream_installation import AZURE_CHART, AZURE_SIDECAR, EKS, GCP, Installed, installed
from tests.process.compat_process import CLIENT, EMAIL, PROVIDER, ROLE, TENANT, CompatProcess
from tests.process.test_compat_process import CHART, SIDECAR
from tests.process.test_compat_process import EKS as EKS_FLAGS
from tests.process.webhook import until
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.faultproxy import FaultProxy

Json = dict[str, Any]
USE = {"azure.workload.identity/use": "true"}
AZURE = {"azure.workload.identity/client-id": CLIENT}
AWS = {"eks.amazonaws.com/role-arn": ROLE}
GOOGLE = {
    "cloud.google.com/workload-identity-provider": PROVIDER,
    "cloud.google.com/service-account-email": EMAIL,
}
FILE = "/var/run/secrets/azure/tokens/azure-identity-token"


def account(plane: ControlPlane, namespace: str, annotations: Json) -> None:
    obj = {"metadata": {"name": "app", "annotations": annotations}}
    plane.admin.create(at("serviceaccounts", namespace), obj).object  # noqa: B018 - raises


def body(labels: Json | None = None, annotations: Json | None = None) -> Json:
    meta = {"generateName": "p-", "labels": labels or {}, "annotations": annotations or {}}
    return {
        "metadata": meta,
        "spec": {"serviceAccountName": "app", "containers": [{"name": "app", "image": "a"}]},
    }


def create(plane: ControlPlane, namespace: str, obj: Json) -> Json:
    return plane.admin.create(at("pods", namespace), obj).object


def env(pod: Json) -> dict[str, str]:
    return {one["name"]: one.get("value", "") for one in pod["spec"]["containers"][0].get("env", [])}


def served(plane: ControlPlane, namespace: str, obj: Json, variable: str, seconds: float = 20.0) -> Json:
    """A pod that got a variable; made anew until the API server has taken up the registration."""
    deadline = time.monotonic() + seconds
    while variable not in env(pod := create(plane, namespace, obj)):
        assert time.monotonic() < deadline, f"no pod got {variable}"
        time.sleep(0.05)
    return pod


def test_the_azure_chart(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    environ = {"AZURE_TENANT_ID": TENANT, "AZURE_ENVIRONMENT": "AzurePublicCloud"}
    account(control_plane, namespace, AZURE)
    with installed(control_plane, AZURE_CHART, namespace, tmp_path, *CHART, **environ) as (_, process):
        pod = served(control_plane, namespace, body(USE), "AZURE_CLIENT_ID")

        assert env(pod) == {
            "AZURE_CLIENT_ID": CLIENT,
            "AZURE_TENANT_ID": TENANT,
            "AZURE_FEDERATED_TOKEN_FILE": FILE,
            "AZURE_AUTHORITY_HOST": "https://login.microsoftonline.com/",
        }
        assert [process.probe(path) for path in ("/healthz", "/readyz")] == [200, 200]
        requested = process.metric("vestibule_admission_requests_total")
        assert env(create(control_plane, namespace, body())) == {}
        assert process.metric("vestibule_admission_requests_total") == requested
        # the API server was asked for its version, so the proxy is a native sidecar
        proxied = create(
            control_plane, namespace, body(USE, {"azure.workload.identity/inject-proxy-sidecar": ""})
        )
        assert "initContainers" not in proxied["spec"]
        annotations = {"azure.workload.identity/inject-proxy-sidecar": "true"}
        proxied = create(control_plane, namespace, body(USE, annotations))
        assert [one["name"] for one in proxied["spec"]["initContainers"]] == ["azwi-proxy-init", "azwi-proxy"]
        assert proxied["spec"]["initContainers"][1]["restartPolicy"] == "Always"


def test_permissions_that_end_at_serviceaccounts_are_lived_with_and_reported_once(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Pods of a Deployment, whose owners and namespace we may not read."""
    account(control_plane, namespace, AZURE)
    template = {"metadata": {"labels": {"app": "x", **USE}}, "spec": body()["spec"]}
    deployment = {
        "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": template},
    }
    environ = {"AZURE_TENANT_ID": TENANT}
    with installed(control_plane, AZURE_CHART, namespace, tmp_path, *CHART, **environ) as (_, process):
        served(control_plane, namespace, body(USE), "AZURE_CLIENT_ID")
        path = at("deployments", namespace, api="apps/v1")
        control_plane.admin.create(path, deployment).object  # noqa: B018 - raises

        def pods() -> list[Json]:
            found = control_plane.admin.list(at("pods", namespace))
            return [pod for pod in found if pod["metadata"]["labels"].get("app") == "x"]

        until(lambda: len(pods()) == 3, "the pods", 30)

        assert [env(pod)["AZURE_CLIENT_ID"] for pod in pods()] == [CLIENT] * 3
        reported = [line for line in process.logged().splitlines() if "may not be read, passed over" in line]
        assert len(reported) == 2
        assert all(any(kind in line for line in reported) for kind in ("namespaces", "replicasets"))
        assert process.get("/readyz")[0] == 200


@pytest.mark.parametrize("version", ["v1beta1", "v1"])
def test_the_eks_manifests(control_plane: ControlPlane, namespace: str, tmp_path: Path, version: str) -> None:
    """They say ``[v1beta1]``; ``[v1]``, which the original's last release cannot answer, is served, too."""
    account(control_plane, namespace, AWS)
    with installed(control_plane, EKS, namespace, tmp_path, *EKS_FLAGS) as (created, process):
        created.register(process, admissionReviewVersions=[version], failurePolicy="Fail")
        pod = served(control_plane, namespace, body(), "AWS_ROLE_ARN")

        mount = "/var/run/secrets/eks.amazonaws.com/serviceaccount"
        assert env(pod) == {"AWS_ROLE_ARN": ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE": f"{mount}/token"}
        skipped = body({"eks.amazonaws.com/skip-pod-identity-webhook": "x"})
        assert env(create(control_plane, namespace, skipped)) == {}


def test_the_mapping_of_the_eks_webhook_follows_its_configmap(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    mapped = EKS._replace(rules=(upstream_installation.READ, rule))
    account(control_plane, namespace, {})
    flags = [*EKS_FLAGS, "--watch-config-map", f"--namespace={namespace}"]
    config_map = {
        "metadata": {"name": "pod-identity-webhook"},
        "data": {"config": f'{{"{namespace}/app": {{"RoleARN": "{ROLE}"}}, "broken": null}}'},
    }
    with installed(control_plane, mapped, namespace, tmp_path, *flags) as (_, process):
        assert env(create(control_plane, namespace, body())) == {}

        control_plane.admin.create(at("configmaps", namespace), config_map).object  # noqa: B018 - raises
        pod = served(control_plane, namespace, body(), "AWS_ROLE_ARN")

        assert env(pod)["AWS_ROLE_ARN"] == ROLE
        assert "left out" in process.logged()


def test_the_gcp_manifests(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    account(control_plane, namespace, GOOGLE)
    flags = ["-gcp-default-region=europe-west3", "-zap-log-level=info"]
    with installed(control_plane, GCP, namespace, tmp_path, *flags) as (_, process):
        pod = served(control_plane, namespace, body(), "GOOGLE_APPLICATION_CREDENTIALS")

        assert env(pod)["CLOUDSDK_COMPUTE_REGION"] == "europe-west3"
        assert EMAIL in pod["metadata"]["annotations"]["cloud.google.com/external-credentials-json"]
        assert process.probe("/readyz") == 200


@pytest.fixture
def sidecar(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Any:
    """The sidecar of a hosted control plane, which starts before its API server answers."""
    created = Installed(control_plane, AZURE_SIDECAR, namespace, tmp_path)
    running: list[CompatProcess] = []

    def start(url: str, **environ: str) -> CompatProcess:
        running.append(created.start(*SIDECAR, url=url, **environ))
        return running[-1]

    created.rights()
    yield created, start
    created.remove()
    for process in running:
        process.close()


Sidecar = tuple[Installed, Callable[..., CompatProcess]]


def test_the_sidecar_of_a_hosted_control_plane_starts_before_its_api_server(
    control_plane: ControlPlane, namespace: str, sidecar: Sidecar
) -> None:
    """No loop in a shell waits for the API server; an empty tenant and a cloud nobody knows do no harm."""
    created, start = sidecar
    account(control_plane, namespace, {**AZURE, "azure.workload.identity/tenant-id": TENANT})
    with FaultProxy.opaque(control_plane.url) as proxy:
        with proxy.refusing():
            process = start(proxy.url, AZURE_TENANT_ID="", AZURE_ENVIRONMENT="AzureStackCloud")
            until(lambda: "API server not heard" in process.logged(), "an attempt")
            until(lambda: "serving https" in process.logged(), "the start")
            assert (process.probe("/healthz"), process.probe("/readyz")) == (200, 503)
            assert process.process.poll() is None
        process.wait_ready(30)
        created.register(process)
        pod = served(control_plane, namespace, body(USE), "AZURE_CLIENT_ID")

        assert env(pod) == {
            "AZURE_CLIENT_ID": CLIENT,
            "AZURE_TENANT_ID": TENANT,
            "AZURE_FEDERATED_TOKEN_FILE": FILE,
        }
        volumes = [one["name"] for one in pod["spec"]["volumes"]]
        assert "azure-identity-token" in volumes


def test_the_sidecar_outlives_its_api_server(
    control_plane: ControlPlane, namespace: str, sidecar: Sidecar
) -> None:
    created, start = sidecar
    account(control_plane, namespace, AZURE)
    with FaultProxy.opaque(control_plane.url) as proxy:
        process = start(proxy.url, AZURE_TENANT_ID=TENANT)
        process.wait_ready()
        created.register(process)
        served(control_plane, namespace, body(USE), "AZURE_CLIENT_ID")
        with proxy.refusing():
            # accounts that are known are served on, and we still call ourselves ready
            assert env(create(control_plane, namespace, body(USE)))["AZURE_CLIENT_ID"] == CLIENT
            assert process.probe("/readyz") == 200
        assert env(create(control_plane, namespace, body(USE)))["AZURE_CLIENT_ID"] == CLIENT
        assert process.end() == 0
