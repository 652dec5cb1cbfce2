"""Where the replicas of an installation are, and whether they answer through the very CA bundle that the API
server gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vestibule.adapters.cluster.client import Client
from vestibule.apps.operator.runtime import roundtrip
from vestibule.apps.operator.runtime.roundtrip import Replica
from vestibule.core.kinds.installs import Install
from vestibule.core.pki import authority

_PORT: Final = "https"
_PATH: Final = "/mutate"


async def places(client: Client, name: str, namespace: str, spec: Install) -> list[Replica]:
    """Where reviews are answered: the address that was given, or the ready ones behind the Service. Raises
    Forbidden, Unavailable."""
    if spec.target.type == "Url":
        return roundtrip.at(spec.target.url)
    return await roundtrip.behind(client, name, namespace, _PORT, f"{name}.{namespace}.svc")


async def problem(found: Sequence[Replica], bundle: str) -> str:
    """Why the webhook cannot be said to answer; empty when every replica does."""
    if not found:
        return "no replica is ready"
    try:
        authorities = authority.split(bundle)
    except ValueError:
        return "the CA bundle cannot be read"
    if not authorities:
        return "there is no CA to trust"
    return await roundtrip.problem(found, _PATH, authorities)
