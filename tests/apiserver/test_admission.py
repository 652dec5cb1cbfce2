"""Pods as clusters make them, through a real API server and the real process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.webhook_installation import WebhookInstallation, installed
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
ARN = "arn:aws:iam::123456789012:role/app"
AWS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ARN}


@pytest.fixture(scope="module")
def installation(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebhookInstallation]:
    with installed(control_plane, tmp_path_factory.mktemp("installation"), "webhook-admission") as created:
        yield created


def pod(name: str = "p", annotations: Json | None = None, **spec: Any) -> Json:
    meta: Json = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"metadata": meta, "spec": {"containers": [{"name": "app", "image": "a"}], **spec}}


def env(obj: Json, field: str = "containers", index: int = 0) -> dict[str, str]:
    return {item["name"]: item.get("value", "") for item in obj["spec"][field][index].get("env", [])}


def test_a_pod_that_asks_gets_its_identity(installation: WebhookInstallation, namespace: str) -> None:
    created = installation.plane.admin.create(at("pods", namespace), pod(annotations=AWS)).object

    assert env(created)["AWS_ROLE_ARN"] == ARN
    assert created["metadata"]["annotations"]["cwii.dev/injected"] == "aws"


def account(installation: WebhookInstallation, namespace: str, name: str, annotations: Json) -> None:
    obj = {"metadata": {"name": name, "annotations": annotations}}
    installation.plane.admin.create(at("serviceaccounts", namespace), obj).object  # noqa: B018 - raises


def template(**spec: Any) -> Json:
    return {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "app", "image": "a"}], "serviceAccountName": "app", **spec},
    }


SELECTOR = {"matchLabels": {"app": "x"}}
WORKLOADS: dict[str, tuple[str, str, Json]] = {
    "Deployment": ("apps/v1", "deployments", {"selector": SELECTOR, "template": template()}),
    "StatefulSet": (
        "apps/v1",
        "statefulsets",
        {"selector": SELECTOR, "serviceName": "x", "template": template()},
    ),
    "Job": ("batch/v1", "jobs", {"template": template(restartPolicy="Never")}),
    "CronJob": (
        "batch/v1",
        "cronjobs",
        {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}}},
    ),
}


def pods_of(installation: WebhookInstallation, namespace: str, seconds: float = 30.0) -> list[Json]:
    import time

    deadline = time.monotonic() + seconds
    while not (found := installation.plane.admin.list(at("pods", namespace))):
        assert time.monotonic() < deadline, "no pod was made"
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job"])
def test_pods_of_controllers_get_values_from_every_level(
    installation: WebhookInstallation, namespace: str, kind: str
) -> None:
    api, plural, spec = WORKLOADS[kind]
    admin = installation.plane.admin
    inject = {
        "metadata": {"annotations": {"cwii.dev/aws-inject": "true", "cwii.dev/aws-region": "eu-north-1"}}
    }
    admin.patch(at("namespaces", name=namespace), inject).object  # noqa: B018 - raises
    account(
        installation, namespace, "app", {"cwii.dev/aws-role-arn": ARN, "cwii.dev/aws-region": "eu-west-1"}
    )
    owner = {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": "w", "annotations": {"cwii.dev/aws-region": "eu-central-1"}},
        "spec": spec,
    }

    admin.create(at(plural, namespace, api=api), owner).object  # noqa: B018 - raises

    got = env(pods_of(installation, namespace)[0])
    assert got["AWS_ROLE_ARN"] == ARN
    assert got["AWS_REGION"] == "eu-central-1"


@pytest.mark.slow
def test_the_pods_of_a_cronjob_read_the_cronjob(installation: WebhookInstallation, namespace: str) -> None:
    api, plural, spec = WORKLOADS["CronJob"]
    account(installation, namespace, "app", {})
    job = {**spec, "suspend": True}
    owner = {"apiVersion": api, "kind": "CronJob", "metadata": {"name": "c", "annotations": AWS}, "spec": job}
    admin = installation.plane.admin
    cron = admin.create(at(plural, namespace, api=api), owner).object
    # the controller would wait for the minute; this is the Job it would make
    reference = {
        "apiVersion": api,
        "kind": "CronJob",
        "name": "c",
        "uid": cron["metadata"]["uid"],
        "controller": True,
    }
    created = {
        "metadata": {"name": "c-1", "ownerReferences": [reference]},
        "spec": spec["jobTemplate"]["spec"],
    }
    admin.create(at("jobs", namespace, api=api), created).object  # noqa: B018 - raises

    assert env(pods_of(installation, namespace)[0])["AWS_ROLE_ARN"] == ARN


def test_pods_of_a_daemonset_get_their_identity(installation: WebhookInstallation, namespace: str) -> None:
    admin = installation.plane.admin
    account(installation, namespace, "app", {})
    node = {"metadata": {"name": f"node-{namespace}", "labels": {"only": namespace}}}
    admin.create(at("nodes"), node).object  # noqa: B018 - raises
    spec = {"selector": SELECTOR, "template": template(nodeSelector={"only": namespace})}
    spec["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    obj = {"metadata": {"name": "d", "annotations": AWS}, "spec": spec}
    admin.create(at("daemonsets", namespace, api="apps/v1"), obj).object  # noqa: B018 - raises

    assert env(pods_of(installation, namespace)[0])["AWS_ROLE_ARN"] == ARN
    admin.delete(at("nodes", name=f"node-{namespace}"))


def test_a_dry_run_is_answered_like_a_real_one(installation: WebhookInstallation, namespace: str) -> None:
    admin = installation.plane.admin

    dry = admin.create(at("pods", namespace), pod(annotations=AWS), dryRun="All").object
    real = admin.create(at("pods", namespace), pod(annotations=AWS)).object

    assert dry["spec"]["containers"][0]["env"] == real["spec"]["containers"][0]["env"]


def test_a_generated_name_is_no_obstacle(installation: WebhookInstallation, namespace: str) -> None:
    obj = pod(annotations={"cwii.dev/aws-inject": "true"})
    obj["metadata"] = {"generateName": "web-", "annotations": {"cwii.dev/aws-inject": "true"}}

    answer = installation.plane.admin.create(at("pods", namespace), obj)

    assert answer.object["metadata"]["name"].startswith("web-")
    assert answer.warnings == [
        f"Pod {namespace}/web-: aws identity is asked for, but "
        "cwii.dev/aws-role-arn is set nowhere: not injected"
    ]


def test_native_sidecars_and_init_containers_get_it_too(
    installation: WebhookInstallation, namespace: str
) -> None:
    inits = [{"name": "m", "image": "m"}, {"name": "s", "image": "s", "restartPolicy": "Always"}]

    created = installation.plane.admin.create(
        at("pods", namespace), pod(annotations=AWS, initContainers=inits)
    ).object

    assert env(created, "initContainers", 0)["AWS_ROLE_ARN"] == ARN
    assert env(created, "initContainers", 1)["AWS_ROLE_ARN"] == ARN


def test_a_mirror_pod_never_reaches_us_and_is_accepted(
    installation: WebhookInstallation, namespace: str
) -> None:
    node = f"mirror-{namespace[-8:]}"
    installation.plane.admin.create(at("nodes"), {"metadata": {"name": node}}).object  # noqa: B018 - raises
    before = installation.replicas[0].metric("vestibule_admission_requests_total")
    kubelet = installation.plane.client(f"system:node:{node}", ["system:nodes"])
    uid = installation.plane.admin.get(at("nodes", name=node)).object["metadata"]["uid"]
    obj = pod("static", {"kubernetes.io/config.mirror": "x", **AWS}, nodeName=node)
    obj["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}
    ]

    answer = kubelet.create(at("pods", namespace), obj)

    assert answer.status == 201, answer.message
    assert installation.replicas[0].metric("vestibule_admission_requests_total") == before
    installation.plane.admin.delete(at("nodes", name=node))


def test_the_restricted_profile_accepts_everything_we_add(
    installation: WebhookInstallation, namespace: str
) -> None:
    admin = installation.plane.admin
    labels = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    admin.patch(at("namespaces", name=namespace), labels).object  # noqa: B018 - raises
    safe: Json = {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "app",
                "image": "a",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    }
    pool = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
    annotations = {
        **AWS,
        "cwii.dev/aws-verify": "true",
        "cwii.dev/gcp-inject": "true",
        "cwii.dev/gcp-audience": pool,
        "cwii.dev/gcp-delivery": "init-container",
        "cwii.dev/gcp-verify": "true",
    }

    for number, delivery in enumerate(("init-container", "annotation")):
        annotations["cwii.dev/gcp-delivery"] = delivery
        answer = admin.create(at("pods", namespace), pod(f"p{number}", annotations, **safe))
        assert answer.status == 201, answer.message


def test_a_guaranteed_pod_stays_guaranteed(installation: WebhookInstallation, namespace: str) -> None:
    same = {"cpu": "100m", "memory": "64Mi"}
    containers = [{"name": "app", "image": "a", "resources": {"requests": same, "limits": same}}]

    created = installation.plane.admin.create(
        at("pods", namespace), pod(annotations={**AWS, "cwii.dev/aws-verify": "true"}, containers=containers)
    ).object

    assert created["status"]["qosClass"] == "Guaranteed"


def test_limit_ranges_and_quotas_accept_what_we_add(
    installation: WebhookInstallation, namespace: str
) -> None:
    admin = installation.plane.admin
    limits = {
        "metadata": {"name": "l"},
        "spec": {
            "limits": [
                {
                    "type": "Container",
                    "default": {"cpu": "200m", "memory": "128Mi"},
                    "max": {"cpu": "1", "memory": "1Gi"},
                    "min": {"cpu": "10m", "memory": "8Mi"},
                }
            ]
        },
    }
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "4", "limits.memory": "4Gi"}}}
    admin.create(at("limitranges", namespace), limits).object  # noqa: B018 - raises
    admin.create(at("resourcequotas", namespace), quota).object  # noqa: B018 - raises
    admin.wait(at("resourcequotas", namespace, "q"), lambda obj: obj.get("status", {}).get("hard"))

    answer = admin.create(at("pods", namespace), pod(annotations={**AWS, "cwii.dev/aws-verify": "true"}))

    assert answer.status == 201, answer.message


def test_fields_newer_than_us_survive(installation: WebhookInstallation, namespace: str) -> None:
    containers = [
        {
            "name": "app",
            "image": "a",
            "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
            "startupProbe": {"grpc": {"port": 1}},
        }
    ]
    spec: Json = {
        "hostUsers": False,
        "schedulingGates": [{"name": "x.example/gate"}],
        "containers": containers,
    }

    admin = installation.plane.admin
    # what this API server itself keeps of these fields: our webhook is not asked about kube-system
    alone = admin.create(at("pods", "kube-system"), pod(**spec), dryRun="All").object

    created = admin.create(at("pods", namespace), pod(annotations=AWS, **spec)).object

    assert env(created)["AWS_ROLE_ARN"] == ARN
    for field in ("hostUsers", "schedulingGates"):
        assert created["spec"].get(field) == alone["spec"].get(field)
    stored, expected = created["spec"]["containers"][0], alone["spec"]["containers"][0]
    assert stored["startupProbe"]["grpc"] == {"port": 1, "service": ""}
    assert {key: value for key, value in stored.items() if key not in ("env", "volumeMounts")} == {
        key: value for key, value in expected.items() if key not in ("env", "volumeMounts")
    }


def test_a_required_identity_that_is_missing_refuses_the_pod_with_the_reason(
    installation: WebhookInstallation, namespace: str
) -> None:
    answer = installation.plane.admin.create(
        at("pods", namespace),
        pod(annotations={"cwii.dev/aws-inject": "true", "cwii.dev/aws-required": "true"}),
    )

    assert answer.status == 403
    assert "cwii.dev/aws-role-arn is set nowhere" in answer.message


def test_the_guard_freezes_the_credentials_of_a_running_pod(
    installation: WebhookInstallation, namespace: str
) -> None:
    admin = installation.plane.admin
    pool = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
    gcp = {"cwii.dev/gcp-inject": "true", "cwii.dev/gcp-audience": pool}
    admin.create(at("pods", namespace), pod(annotations=gcp)).object  # noqa: B018 - raises
    path = at("pods", namespace, "p")

    tampered = admin.patch(path, {"metadata": {"annotations": {"cwii.dev/gcp-credentials": "{}"}}})
    removed = admin.patch(path, {"metadata": {"annotations": {"cwii.dev/gcp-credentials": None}}})
    harmless = admin.patch(path, {"metadata": {"annotations": {"note": "fine"}, "labels": {"a": "b"}}})

    assert tampered.status == 403, tampered.message
    assert "cannot be changed" in tampered.message
    assert removed.status == 403
    assert harmless.status == 200


def test_the_audit_log_knows_what_was_injected(installation: WebhookInstallation, namespace: str) -> None:
    mark = installation.plane.audit.mark()
    installation.plane.admin.create(at("pods", namespace), pod(annotations=AWS)).object  # noqa: B018 - raises

    event = installation.plane.audit.wait(since=mark, verb="create", namespace=namespace)

    assert event["annotations"]["pods.vestibule.dev/providers"] == "aws"
    assert event["annotations"]["pods.vestibule.dev/outcome"] == "inject"


def test_excluded_namespaces_are_never_asked_about(installation: WebhookInstallation) -> None:
    replica = installation.replicas[0]
    before = replica.metric("vestibule_admission_requests_total")

    answer = installation.plane.admin.create(at("pods", "kube-system"), pod(annotations=AWS), dryRun="All")

    assert "env" not in answer.object["spec"]["containers"][0]
    assert replica.metric("vestibule_admission_requests_total") == before


def test_offline_reads_the_live_cluster(
    installation: WebhookInstallation, namespace: str, tmp_path: Path
) -> None:
    import subprocess
    import sys

    account(installation, namespace, "app", AWS)
    file = tmp_path / "pod.yaml"
    file.write_text(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: {namespace}}}\n"
        "spec: {serviceAccountName: app, containers: [{name: a, image: a}]}\n"
    )
    command = [
        sys.executable,
        "-m",
        "vestibule",
        "explain",
        "-f",
        str(file),
        "--kubeconfig",
        str(installation.kubeconfig),
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert result.returncode == 0, result.stderr
    assert f"ServiceAccount {namespace}/app" in result.stdout
