"""Where the replicas of an installation are, and whether they answer through the very CA bundle that the API
server gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vestibule.api.vestibulewebhook import VestibuleWebhookSpec
from vestibule.kube.client import Client
from vestibule.operator import webhook_probe
from vestibule.operator.webhook_probe import Replica
from vestibule.pki import certificate_authority

_PORT: Final = "https"
_PATH: Final = "/mutate"


async def places(client: Client, name: str, namespace: str, spec: VestibuleWebhookSpec) -> list[Replica]:
    """Where reviews are answered: the address that was given, or the ready ones behind the Service. Raises
    Forbidden, Unavailable."""
    if spec.target.type == "Url":
        return webhook_probe.at(spec.target.url)
    return await webhook_probe.behind(client, name, namespace, _PORT, f"{name}.{namespace}.svc")


async def problem(found: Sequence[Replica], bundle: str) -> str:
    """Why the webhook cannot be said to answer; empty when every replica does."""
    if not found:
        return "no replica is ready"
    try:
        authorities = certificate_authority.split(bundle)
    except ValueError:
        return "the CA bundle cannot be read"
    if not authorities:
        return "there is no CA to trust"
    return await webhook_probe.problem(found, _PATH, authorities)
