"""Where the replicas of a webhook beside a control plane are; ``roundtrip`` asks whether they answer."""

from __future__ import annotations

from vestibule.adapters.cluster.client import Client
from vestibule.apps.operator.hosted import workload
from vestibule.apps.operator.hosted.target import Target
from vestibule.apps.operator.runtime import roundtrip
from vestibule.apps.operator.runtime.roundtrip import Replica


async def places(client: Client, target: Target, url: str) -> list[Replica]:
    """Where reviews are answered: the URL that was given, or the ready ones behind the Service. Raises
    Forbidden, Unavailable."""
    if url:
        return roundtrip.at(url)
    return await roundtrip.behind(
        client, target.own, target.namespace, workload.PORT, workload.names(target)[1]
    )
