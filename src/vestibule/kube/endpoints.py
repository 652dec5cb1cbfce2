"""Where the replicas behind a Service are, as far as they are ready."""

from __future__ import annotations

from typing import Any, Final

from vestibule.kube import lister
from vestibule.kube.client import Client
from vestibule.manifests import kinds

Object = dict[str, Any]
SERVICE: Final = "kubernetes.io/service-name"
"""Label of a slice: the Service that it is for."""


async def ready(client: Client, service: str, namespace: str, port: str) -> list[tuple[str, int]]:
    """Addresses and the number of the port of this name, sorted. Raises Forbidden, Unavailable."""
    slices = await lister.every(client, kinds.ENDPOINT_SLICE, namespace, selector=f"{SERVICE}={service}")
    return sorted({one for part in slices for one in _of(part, port)})


def _of(part: Object, name: str) -> list[tuple[str, int]]:
    ports = [int(one["port"]) for one in part.get("ports") or () if one.get("name") == name]
    return [
        (address, port)
        for endpoint in part.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        for address in endpoint.get("addresses") or ()
        for port in ports[:1]
    ]
