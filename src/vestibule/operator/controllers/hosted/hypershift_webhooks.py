"""The identity webhooks that HyperShift runs beside an API server, as data: every name, port and path that
others rely on.

Ours take the same places under a name of their own (``OURS``), so that neither deletes or starves the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from vestibule import errors

Object = dict[str, Any]
OURS: Final = "workload-identity-webhook"
"""The name of whatever we place beside a control plane ourselves."""
ACCOUNT_NAMESPACE: Final = "openshift-authentication"
"""Namespace in the user names of HyperShift's webhooks; no such ServiceAccount exists."""
HEALTH_PORT: Final = 9440
METRICS_PORT: Final = 9441
"""Not the original's 8095, where the key service of Azure listens in the same pod."""
CERTIFICATES: Final = "/var/run/app/certs"
KUBECONFIG: Final = "/var/run/app/kubeconfig"


class HypershiftWebhook(NamedTuple):
    """One of them."""

    program: Literal["azwi", "eks"]
    """What ``vestibule webhook --as`` calls it."""
    name: str
    """Of container, image in the payload, role, binding and user."""
    volumes: str
    """What its volumes' names begin with."""
    configuration: str
    """Of its registration in the guest."""
    entry: str
    """Of the one webhook in it."""
    port: int
    path: str
    versions: tuple[str, ...]
    server: Literal["localhost", "service"]
    """How it reaches its API server."""
    extra: Mapping[str, Any]
    """Fields of the registration beyond what both have."""

    @property
    def serving_secret(self) -> str:
        """Secret with its serving certificate."""
        return f"{self.name}-serving-cert"

    @property
    def kubeconfig_secret(self) -> str:
        """Secret with its kubeconfig."""
        return f"{self.name}-kubeconfig"

    @property
    def user(self) -> str:
        """Whom its client certificate names."""
        return f"system:serviceaccount:{ACCOUNT_NAMESPACE}:{self.name}"

    @property
    def local_url(self) -> str:
        """Where the API server finds it in its own pod."""
        return f"https://127.0.0.1:{self.port}{self.path}"


AZURE: Final = HypershiftWebhook(
    program="azwi",
    name="azure-workload-identity-webhook",
    volumes="azure-wi-webhook",
    configuration="azure-workload-identity-webhook",
    entry="pod-identity-webhook.azure.mutate.io",
    port=9443,
    path="/mutate-v1-pod",
    versions=("v1", "v1beta1"),
    server="localhost",
    extra={
        "matchPolicy": "Equivalent",
        "reinvocationPolicy": "IfNeeded",
        "objectSelector": {"matchLabels": {"azure.workload.identity/use": "true"}},
    },
)
AWS: Final = HypershiftWebhook(
    program="eks",
    name="aws-pod-identity-webhook",
    volumes="aws-pod-identity-webhook",
    configuration="aws-pod-identity",
    entry="pod-identity-webhook.amazonaws.com",
    port=4443,
    path="/mutate",
    versions=("v1beta1",),
    server="service",
    extra={},
)
ALL: Final = (AZURE, AWS)
PROGRAMS: Final[dict[str, HypershiftWebhook]] = {one.program: one for one in ALL}


def of(control_plane: Object) -> HypershiftWebhook | None:
    """The one that HyperShift runs for this HostedControlPlane; None for platforms that have none.

    Gated on the platform alone: a gate on something derived once lost the sidecar for a release. Raises
    InvalidInput for Azure without ``spec.platform.azure``.
    """
    platform = (control_plane.get("spec") or {}).get("platform") or {}
    if platform.get("type") == "Azure":
        if not isinstance(platform.get("azure"), dict):
            raise errors.InvalidInput(
                errors.InputProblem(
                    f"HostedControlPlane {control_plane['metadata']['name']}",
                    "spec.platform.azure",
                    "is not set, want the tenant and the cloud when spec.platform.type is 'Azure'",
                )
            )
        return AZURE
    return AWS if platform.get("type") == "AWS" else None
