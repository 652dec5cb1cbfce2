"""``vestibule doctor`` on a real cluster: nothing against a healthy one, and everything that is broken on
purpose is found."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.admitted_pod import ARN, AWS
from tests.apiserver.webhook_installation import WebhookInstallation, installed, path_of, present, wait_called
from tests.doctor.issuer import DISCOVERY, KEYS, Issuer, Page
from tests.migrate import charts
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.fixtures import Planes
from tests.serving.authority import Authority

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io/v1"


def doctor(kubeconfig: Path, *words: str) -> tuple[int, Json]:
    command = [sys.executable, "-m", "vestibule", "doctor", "--kubeconfig", str(kubeconfig), *words]
    done = subprocess.run([*command, "-o", "json"], capture_output=True, text=True, timeout=90, check=False)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def bad(report: Json) -> dict[str, str]:
    return {one["id"]: one["found"] for one in report["checks"] if one["status"] in ("warn", "fail")}


def failed(report: Json) -> list[Json]:
    """The failed checks with everything that they report, for the message of an assertion."""
    return [one for one in report["checks"] if one["status"] == "fail"]


def statuses(report: Json) -> dict[str, str]:
    return {one["id"]: one["status"] for one in report["checks"]}


def the(report: Json, id_: str) -> Json:
    (found,) = (one for one in report["checks"] if one["id"] == id_)
    return dict(found)


@pytest.fixture(scope="module")
def readable(control_plane: ControlPlane) -> Iterator[None]:
    """Everybody may read the issuer's documents, as on a cluster whose API server is public."""
    name = "doctor-anonymous-issuer"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:anonymous"}
    binding = {
        "apiVersion": RBAC,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {**role, "name": "system:service-account-issuer-discovery"},
        "subjects": [user],
    }
    path = at("clusterrolebindings", name=name, api=RBAC)
    control_plane.admin.apply(path, binding, "doctor").object  # noqa: B018 - raises
    yield
    control_plane.admin.delete(path)


@pytest.fixture(scope="module")
def installation(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory, readable: None
) -> Iterator[WebhookInstallation]:
    with installed(control_plane, tmp_path_factory.mktemp("installation"), "webhook-doctor") as created:
        yield created


def ask(installation: WebhookInstallation, namespace: str, *words: str) -> tuple[int, Json]:
    """The whole question, as an administrator asks it."""
    plane = installation.plane
    usual = ["--settings", str(installation.settings_file), "--namespace", namespace]
    return doctor(plane.kubeconfig(), *usual, "--ca-bundle", str(plane.authority.ca), *words)


def account(plane: ControlPlane, namespace: str, arn: str = ARN, name: str = "app") -> None:
    annotations = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": arn}
    obj = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "annotations": annotations},
    }
    plane.admin.apply(at("serviceaccounts", namespace, name), obj, "test", force=True).object  # noqa: B018


def pod(plane: ControlPlane, namespace: str, name: str, **metadata: Any) -> Json:
    body = {
        "metadata": {"name": name, **metadata},
        "spec": {"serviceAccountName": "app", "containers": [{"name": "a", "image": "a"}]},
    }
    return plane.admin.create(at("pods", namespace), body).object


def deployment(plane: ControlPlane, namespace: str, name: str, **container: Any) -> None:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"serviceAccountName": "app", "containers": [{"name": "a", "image": "a", **container}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    body = {"metadata": {"name": name}, "spec": spec}
    plane.admin.create(at("deployments", namespace, api="apps/v1"), body).object  # noqa: B018 - raises
    pods = at("pods", namespace)
    process.wait(f"a pod of {name}", lambda: bool(plane.admin.list(pods, labelSelector=f"app={name}")), 30)


def test_a_healthy_cluster_has_nothing_against_it(installation: WebhookInstallation, namespace: str) -> None:
    account(installation.plane, namespace)
    pod(installation.plane, namespace, "served")
    deployment(installation.plane, namespace, "web")

    code, report = ask(
        installation, namespace, "--service-account", f"{namespace}/app", "--cloud", "aws", "--cloud", "az"
    )

    assert (code, report["status"], bad(report)) == (0, "ok", {})
    found = statuses(report)
    assert [one for one, status in found.items() if status == "skipped"] == ["webhook.service"]
    assert {
        "cluster.discovery", "cluster.keys", "clock.cluster", "issuer.same-keys", "issuer.equal",
        "token.signature", "az.audience", "webhook.trust", "webhook.namespaces", "webhook.neighbours",
        "pods.missing",
    } <= set(found)  # fmt: skip
    assert "2 pods scanned, 2 request an identity" in the(report, "pods.missing")["found"]
    assert "eyJ" not in json.dumps(report)  # as every token begins


def test_a_pod_that_was_created_while_the_webhook_was_down_is_found(
    installation: WebhookInstallation, namespace: str
) -> None:
    account(installation.plane, namespace)
    pod(installation.plane, namespace, "before")
    down = installation.replicas[-1]
    down.terminate()
    try:
        lost = pod(installation.plane, namespace, "lost")
        deployment(installation.plane, namespace, "web")
    finally:
        installation.start(port=down.port)
        installation.replicas.remove(down)
        down.close()
    assert "cwii-aws-token" not in [volume["name"] for volume in lost["spec"]["volumes"]]

    code, report = ask(installation, namespace, "--no-pods")
    assert "pods.missing" not in statuses(report)
    code, report = ask(installation, namespace)

    missing = the(report, "pods.missing")
    assert (code, missing["status"], missing["found"]) == (
        3,
        "fail",
        "the requested identity is missing: 2 pods",
    )
    alone, owned = missing["items"]
    assert (alone["name"], alone["owner"], alone["clouds"]) == ("lost", "", ["aws"])
    assert alone["found"] == "has no aws identity"
    assert alone["reason"].startswith("created while no webhook answered (failurePolicy is Ignore)")
    assert alone["advice"] == f"kubectl -n {namespace} delete pod lost and create it again"
    assert owned["owner"] == "Deployment web"
    assert owned["advice"] == f"kubectl -n {namespace} rollout restart deployment/web"


def test_a_pod_whose_role_has_changed_since_is_stale(
    installation: WebhookInstallation, namespace: str
) -> None:
    plane = installation.plane
    account(plane, namespace)
    deployment(plane, namespace, "web")
    deployment(plane, namespace, "own", env=[{"name": "AWS_ROLE_ARN", "value": f"{ARN}-of-its-own"}])
    account(plane, namespace, f"{ARN}-new")

    code, report = ask(installation, namespace)

    assert code == 0, failed(report)
    stale = the(report, "pods.stale")
    assert (stale["status"], list(bad(report))[-1]) == ("warn", "pods.stale")
    (item,) = stale["items"]
    assert item["owner"] == "Deployment web"
    assert item["found"] == f"container a: AWS_ROLE_ARN is '{ARN}', today '{ARN}-new'"
    assert "have changed since" in item["reason"]


def test_a_pod_that_keeps_what_nobody_asks_for_any_more_is_stale(
    installation: WebhookInstallation, namespace: str
) -> None:
    plane = installation.plane
    account(plane, namespace)
    pod(plane, namespace, "kept")
    plane.admin.delete(at("serviceaccounts", namespace, "app"))

    _, report = ask(installation, namespace)

    (item,) = the(report, "pods.stale")["items"]
    assert item["found"] == "has the token volume cwii-aws-token, which it would not get today"


def test_pods_that_could_not_come_today_are_reported(
    installation: WebhookInstallation, namespace: str
) -> None:
    plane = installation.plane
    account(plane, namespace)
    pod(plane, namespace, "incomplete", annotations={"cwii.dev/az-inject": "true"})
    pod(plane, namespace, "strict")
    wrong = {**AWS, "cwii.dev/aws-role-arn": "no-arn", "cwii.dev/aws-required": "true"}
    plane.admin.patch(at("pods", namespace, "strict"), {"metadata": {"annotations": wrong}}).object  # noqa: B018

    code, report = ask(installation, namespace)

    assert code == 0, failed(report)
    (unserved,), (refused,) = (the(report, id_)["items"] for id_ in ("pods.unserved", "pods.refused"))
    assert "az identity is requested, but" in unserved["found"]
    assert "cwii.dev/aws-role-arn is 'no-arn'" in refused["found"]


def test_a_bundle_that_does_not_verify_what_is_served_is_found(
    installation: WebhookInstallation, namespace: str
) -> None:
    port = installation.replicas[-1].port
    other = base64.b64encode(Authority("somebody else").pem).decode()
    url = f"https://127.0.0.1:{port}/mutate"
    installation.register(port, clientConfig={"url": url, "caBundle": other}, timeoutSeconds=30)
    try:
        code, report = ask(installation, namespace)
    finally:
        installation.register(port)
        wait_called(installation)

    trust = the(report, "webhook.trust")
    assert (code, trust["status"], trust["about"]) == (3, "fail", f"127.0.0.1:{port}")
    assert (
        f"caBundle of MutatingWebhookConfiguration {installation.name} does not verify it: " in trust["found"]
    )
    assert the(report, "webhook.ca-bundle")["status"] == "ok"
    assert the(report, "webhook.timeout")["status"] == "warn"


def test_an_installation_is_read_as_it_is_and_nobody_is_there_to_answer(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    """As rendered, with its Service, its settings and its Secret; there is no kubelet to run it."""
    installation = WebhookInstallation(
        control_plane,
        tmp_path,
        "webhook-doctor-service",
        vocabularies=["eks", "cwii"],
        webhook={"objectSelector": {"nobody": "has-this"}},
    )
    leaf = installation.authority.leaf()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{installation.name}-tls", "namespace": installation.name},
        "data": {"tls.crt": base64.b64encode(leaf.cert).decode()},
    }
    try:
        installation.apply()
        with present(control_plane, secret, installation.objects["MutatingWebhookConfiguration"]):
            words = ["--webhook-configuration", installation.name, "--namespace", installation.name]
            code, report = doctor(control_plane.kubeconfig(), *words)
            control_plane.admin.delete(path_of(secret))
            _, without = doctor(control_plane.kubeconfig(), *words, "--no-pods")
    finally:
        installation.close()

    assert code == 3
    assert the(report, "webhook.settings")["found"] == "mode better, dialects eks, cwii"
    service = the(report, "webhook.service")
    assert (service["status"], service["about"]) == (
        "fail",
        f"Service {installation.name}/{installation.name}",
    )
    trust = the(report, "webhook.trust")
    assert (trust["status"], trust["about"]) == (
        "fail",
        f"Secret {installation.name}/{installation.name}-tls",
    )
    assert "it names localhost, 127.0.0.1, ::1" in trust["found"]
    assert the(without, "webhook.trust")["status"] == "skipped"
    assert "holds no tls.crt" in the(without, "webhook.trust")["found"]


def test_in_the_place_of_another_its_flags_are_the_settings(
    control_plane: ControlPlane, namespace: str
) -> None:
    """The chart of Azure with our program in it; a pod of before, and one without the label."""
    admin = control_plane.admin
    objects = charts.azure()
    (deployed,) = (obj for obj in objects if obj["kind"] == "Deployment")
    container = deployed["spec"]["template"]["spec"]["containers"][0]
    container |= {
        "image": "registry.example/vestibule:1",
        "command": ["vestibule", "webhook", "--as", "azwi"],
    }
    keys = {"azure.workload.identity/client-id": charts.CLIENT}
    accounts = at("serviceaccounts", namespace)
    admin.create(accounts, {"metadata": {"name": "app", "annotations": keys}}).object  # noqa: B018 - raises
    for name, labels in (("labelled", charts.USE), ("plain", {})):
        pod(control_plane, namespace, name, labels=labels)
    # a registration with failurePolicy Fail comes last, so that pods can be made before it
    with present(control_plane, *objects):
        words = ["--webhook-configuration", charts.AZWI_CONFIGURATION, "--namespace", namespace]
        code, report = doctor(control_plane.kubeconfig(), *words)

    settings = the(report, "webhook.settings")
    assert settings["about"] == f"Deployment {charts.AZWI_SPACE}/azure-wi-webhook-controller-manager"
    assert (code, settings["found"]) == (3, "mode better, dialects azwi")
    (item,) = the(report, "pods.missing")["items"]
    assert (item["name"], item["clouds"]) == ("labelled", ["az"])
    assert the(report, "webhook.namespaces")["status"] == "warn"  # the chart selects by the pod's label alone


def test_no_webhook_and_another_ones(control_plane: ControlPlane, namespace: str) -> None:
    hook = {
        "name": "mutation.azure-workload-identity.io",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/mutate-v1-pod"},
        "failurePolicy": "Ignore",
        "objectSelector": {"matchLabels": {"nobody": "has-this"}},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        ],
        "sideEffects": "None",
    }
    theirs = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "azure-wi-webhook-mutating-webhook-configuration"},
        "webhooks": [hook],
    }
    with present(control_plane, theirs):
        words = ["--namespace", namespace, "--webhook-configuration", "no-such-thing"]
        code, report = doctor(control_plane.kubeconfig(), *words)

    reported = the(report, "webhook.registration")
    assert (code, reported["status"]) == (3, "fail")
    assert reported["found"].startswith("does not exist; found: Azure workload identity")
    assert "--webhook-configuration" in reported["advice"]


def test_who_may_read_nothing_is_reported_and_nothing_fails(
    control_plane: ControlPlane, namespace: str
) -> None:
    words = ["--namespace", namespace, "--service-account", f"{namespace}/default"]

    code, report = doctor(control_plane.kubeconfig("doctor:nobody"), *words)

    found = statuses(report)
    assert code == 0
    assert {id_ for id_, status in found.items() if status == "skipped"} >= {
        "cluster.discovery", "cluster.keys", "token.mint", "webhook.registration", "pods.missing",
    }  # fmt: skip
    assert set(found.values()) <= {"ok", "skipped"}


@pytest.mark.slow
def test_copies_of_the_documents_on_another_server(private_control_plane: Planes, tmp_path: Path) -> None:
    """As clusters have it whose API server is not public: first right, then each thing wrong by itself."""
    authority = Authority("bucket")
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(authority.pem)
    with Issuer(authority) as bucket:
        flags = {"service-account-issuer": bucket.url, "service-account-jwks-uri": bucket.url + KEYS}
        plane = private_control_plane(controllers=False, flags=flags)
        for path in (DISCOVERY, KEYS):
            copied = plane.admin.raw("GET", path, headers={"Accept": "*/*"})
            bucket.pages[path] = Page(copied.body)
        account(plane, "default")
        words = [
            "--service-account",
            "default/app",
            "--cloud",
            "aws",
            "--no-pods",
            "--ca-bundle",
            str(bundle),
        ]

        _, healthy = doctor(plane.kubeconfig(), *words)
        _, slash = doctor(plane.kubeconfig(), *words, "--issuer", f"{bucket.url}/")
        right = dict(bucket.pages)
        document = json.loads(right[DISCOVERY].body)
        bucket.pages[DISCOVERY] = Page.of({**document, "issuer": f"{bucket.url}/"})
        _, renamed = doctor(plane.kubeconfig(), *words)
        bucket.publish(bucket.url, [])
        bucket.pages[DISCOVERY] = right[DISCOVERY]
        other = json.loads(right[KEYS].body)["keys"][0] | {"kid": "another"}
        bucket.pages[KEYS] = Page.of({"keys": [other]})
        code, keyless = doctor(plane.kubeconfig(), *words)

    webhook = {"webhook.registration"}  # nobody registered us there
    assert set(bad(healthy)) == webhook
    assert the(healthy, "token.signature")["status"] == the(healthy, "issuer.same-keys")["status"] == "ok"
    assert set(bad(slash)) == webhook | {"issuer.name", "issuer.equal", "token.issuer"}
    assert set(bad(renamed)) == webhook | {"issuer.name"}
    assert "the slash at the end" in bad(renamed)["issuer.name"]
    assert code == 3
    assert set(bad(keyless)) == webhook | {"issuer.same-keys", "token.key"}
    assert "publish /openid/v1/jwks again" in the(keyless, "token.key")["advice"]
