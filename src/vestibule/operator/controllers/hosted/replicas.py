"""Where the replicas of a webhook beside a control plane are; ``webhook_probe`` asks whether they answer."""

from __future__ import annotations

from vestibule.kube.client import Client
from vestibule.operator import webhook_probe
from vestibule.operator.controllers.hosted import workload
from vestibule.operator.controllers.hosted.control_plane import ControlPlane
from vestibule.operator.webhook_probe import Replica


async def places(client: Client, target: ControlPlane, url: str) -> list[Replica]:
    """Where reviews are answered: the URL that was given, or the ready ones behind the Service. Raises
    Forbidden, Unavailable."""
    if url:
        return webhook_probe.at(url)
    return await webhook_probe.behind(
        client, target.own, target.namespace, workload.PORT, workload.names(target)[1]
    )
