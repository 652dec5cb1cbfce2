"""The objects of an installation, looked at beside the live cluster they are for. Nothing is written."""

from __future__ import annotations

import asyncio

from vestibule.adapters.cluster import survey
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.live import LiveCluster
from vestibule.adapters.cluster.memory import MemoryCluster
from vestibule.apps.offline import sandboxes
from vestibule.core.kinds.config import Settings
from vestibule.core.native import adaptation, install
from vestibule.core.native.adaptation import Adapted


def run(settings: Settings, client: Client, beside: MemoryCluster) -> Adapted:
    """The objects for this cluster, and what an administrator should know first; what stands ``beside`` is
    stronger than what the cluster says about sandboxes.

    Raises InvalidInput with all that keeps the settings from the cluster, Forbidden or Unavailable when it
    cannot be asked. The client is closed.
    """
    return asyncio.run(_run(settings, client, beside))


async def _run(settings: Settings, client: Client, beside: MemoryCluster) -> Adapted:
    try:
        said = await sandboxes.look(settings, beside, LiveCluster(client))
        objects = install.objects(settings, said.world)
        seen = await survey.look(client, objects)
    finally:
        await client.close()
    objects, warnings = adaptation.adapt(objects, settings, seen)
    return Adapted(objects, [*said.warnings, *warnings])
