"""What became of one pod that asked for an identity: as it is kept, as the API server's audit log tells it,
and as our own metrics count it."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.apiserver.webhook_installation import WebhookInstallation
from tests.rig import audit
from tests.rig.client import at

Json = dict[str, Any]
ARN = "arn:aws:iam::123456789012:role/app"
AWS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": ARN}


class AdmittedPod(NamedTuple):
    """What became of one pod."""

    pod: Json
    warnings: list[str]
    calls: list[tuple[int, str, bool]]
    """Round, webhook and whether it changed the pod, as the API server's audit log has it."""
    counted: dict[str, float]
    """How often our own metrics counted which outcome."""

    @property
    def annotations(self) -> Json:
        found: Json = self.pod["metadata"]["annotations"]
        return found


def outcomes(installation: WebhookInstallation) -> dict[str, float]:
    """Reviews that our replicas answered, by outcome."""
    metric = "vestibule_admission_requests_total"
    return {
        word: sum(one.metric(metric, f'outcome="{word}"') for one in installation.replicas)
        for word in ("inject", "skip", "deny")
    }


def created(
    installation: WebhookInstallation,
    namespace: str,
    annotations: Json = AWS,
    name: str = "p",
    spec: Json | None = None,
) -> AdmittedPod:
    """A pod that asks for an identity, and all that is known about how it got it."""
    before, mark = outcomes(installation), installation.plane.audit.mark()
    body = {
        "metadata": {"name": name, "annotations": annotations},
        "spec": spec or {"containers": [{"name": "app", "image": "a"}]},
    }
    answer = installation.plane.admin.create(at("pods", namespace), body)
    pod = answer.object
    event = installation.plane.audit.wait(
        since=mark, namespace=namespace, resource="pods", name=name, verb="create"
    )
    after = outcomes(installation)
    return AdmittedPod(
        pod,
        answer.warnings,
        [(call["round"], call["webhook"], call["mutated"]) for call in audit.webhooks(event)],
        {word: after[word] - before[word] for word in after if after[word] != before[word]},
    )


def identity(pod: Json, container: str, field: str = "containers") -> list[str]:
    """The variables and mounts of ours in one container; every name once, or it fails."""
    (found,) = (one for one in pod["spec"][field] if one["name"] == container)
    names = [item["name"] for item in found.get("env", [])]
    mounts = [mount["mountPath"] for mount in found.get("volumeMounts", [])]
    assert len(names) == len(set(names)), names
    assert len(mounts) == len(set(mounts)), mounts
    return [name for name in names if name.startswith("AWS_")] + [m for m in mounts if "cwii.dev" in m]


WHOLE = ["AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/secrets/cwii.dev/aws"]


def assert_once(pod: Json) -> None:
    """One volume of ours, one marker."""
    volumes = [volume["name"] for volume in pod["spec"]["volumes"]]
    assert volumes.count("cwii-aws-token") == 1
    assert len(volumes) == len(set(volumes))
    assert pod["metadata"]["annotations"]["cwii.dev/injected"] == "aws"
