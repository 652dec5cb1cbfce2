"""``HostedWebhook``: one object, beside a control plane, asks for the webhook of its guest."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from vestibule import errors
from vestibule.core.kinds import text
from vestibule.core.kinds.gvk import Kind

HOSTED_WEBHOOK: Final = Kind("vestibule.dev", "v1alpha1", "HostedWebhook", "hostedwebhooks")
FINALIZER: Final = "vestibule.dev/hosted"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
Flavour = Literal["hypershift", "kamaji", "k0smotron", "clusterapi", "vcluster", "kubeconfig"]


class _Part(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A part of the object; unknown fields are left to their owner."""


class Target(_Part, frozen=True):
    """The control plane, in the same namespace."""

    flavour: Flavour
    """Who made it."""
    name: str
    """Name of its object; for ``kubeconfig`` that of the Secret."""


class Hosted(_Part, frozen=True):
    """``spec``."""

    target: Target
    """The control plane."""
    program: Literal["azwi", "eks"] = "azwi"
    """Whose place is taken: the webhook of Azure Workload Identity, or that of EKS."""
    attach: Literal["auto", "builtin", "deployment", "sidecar", "static-pod", "in-guest"] = "auto"
    """How the webhook stands beside the API server."""
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
    """Address of the guest's API server for the operator and the webhook, where the one in the kubeconfig,
    or the control plane's Service, is of no use to them."""
    credential: Literal["token", "certificate"] = "token"
    """Who the webhook is in the guest: by a token that is asked for there and renewed, or by a client
    certificate of the guest's signer, whose Secret must then be readable. Static pods have a certificate."""
    abandon_after: str = "10m"
    """How long a guest may stay silent before a deletion goes on without cleaning it; an upgrade of a single
    replica takes less than ten minutes."""
    paused: bool = False
    """Look, and write nothing but the status."""


def parse(obj: dict[str, Any]) -> Hosted:
    """What an object asks for; raises InvalidInput."""
    place = f"HostedWebhook {(obj.get('metadata') or {}).get('name', '')}"
    try:
        found = msgspec.convert(obj.get("spec") or {}, Hosted)
    except msgspec.ValidationError as error:
        raise errors.InvalidInput(errors.Problem(place, "spec", str(error))) from error
    if not _NAME.fullmatch(found.target.name):
        wrong = f"is {found.target.name[:80]!r}, want the name of an object in the same namespace"
        raise errors.InvalidInput(errors.Problem(place, "spec.target.name", wrong))
    if text.duration(found.abandon_after) is None:
        wrong = f"is {found.abandon_after!r}, want a duration such as 10m"
        raise errors.InvalidInput(errors.Problem(place, "spec.abandonAfter", wrong))
    return found
