"""``HostedWebhook``: one object, in the namespace of a control plane, requests the webhook of its hosted
cluster."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from vestibule import errors, gostrconv
from vestibule.api.gvk import Kind

HOSTED_WEBHOOK: Final = Kind("vestibule.dev", "v1alpha1", "HostedWebhook", "hostedwebhooks")
FINALIZER: Final = "vestibule.dev/hosted"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
HostedPlatform = Literal["hypershift", "kamaji", "k0smotron", "clusterapi", "vcluster", "kubeconfig"]


class _HostedWebhookPart(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A part of the object; unknown fields are left to their owner."""


class ControlPlaneTarget(_HostedWebhookPart, frozen=True):
    """The control plane, in the same namespace."""

    flavour: HostedPlatform
    """The provider that created it."""
    name: str
    """Name of its object; for ``kubeconfig`` that of the Secret."""


class HostedWebhookSpec(_HostedWebhookPart, frozen=True):
    """``spec``."""

    target: ControlPlaneTarget
    """The control plane."""
    program: Literal["azwi", "eks"] = "azwi"
    """Whose place is taken: the webhook of Azure Workload Identity, or that of EKS."""
    attach: Literal["auto", "builtin", "deployment", "sidecar", "static-pod", "in-guest"] = "auto"
    """How the webhook is attached to the API server."""
    tenant_id: str = ""
    """The Azure tenant of accounts that name none; empty: the control plane's own."""
    environment: str = ""
    """Name of the Azure cloud; empty: the control plane's own."""
    region: str = ""
    """The AWS region of containers that name none."""
    image: str = ""
    """Image of the webhook; empty: the operator's own."""
    failure_policy: Literal["Ignore", "Fail"] = "Ignore"
    """What happens to pods while the webhook is down."""
    replicas: int = 2
    """Of a Deployment of our own."""
    url: str = ""
    """``https://HOST:PORT`` that leads to the replicas, where the API server cannot resolve their Service."""
    server: str = ""
    """Address of the hosted cluster's API server for the operator and the webhook, if they cannot use the
    one in the kubeconfig or the Service of the control plane."""
    credential: Literal["token", "certificate"] = "token"
    """How the webhook authenticates to the hosted cluster: with a token that is requested there and
    renewed, or with a client certificate of its signer, whose Secret must be readable. Static pods use a
    certificate."""
    abandon_after: str = "10m"
    """How long the hosted cluster may be unreachable before a deletion continues without cleaning it up;
    an upgrade of a single replica takes less than ten minutes."""
    paused: bool = False
    """Look, and write nothing but the status."""


def parse(obj: dict[str, Any]) -> HostedWebhookSpec:
    """What an object asks for; raises InvalidInput."""
    place = f"HostedWebhook {(obj.get('metadata') or {}).get('name', '')}"
    try:
        found = msgspec.convert(obj.get("spec") or {}, HostedWebhookSpec)
    except msgspec.ValidationError as error:
        raise errors.InvalidInput(errors.InputProblem(place, "spec", str(error))) from error
    if not _NAME.fullmatch(found.target.name):
        wrong = f"is {found.target.name[:80]!r}, want the name of an object in the same namespace"
        raise errors.InvalidInput(errors.InputProblem(place, "spec.target.name", wrong))
    if gostrconv.duration(found.abandon_after) is None:
        wrong = f"is {found.abandon_after!r}, want a duration such as 10m"
        raise errors.InvalidInput(errors.InputProblem(place, "spec.abandonAfter", wrong))
    return found
