"""The objects of an installation, looked at beside the live cluster they are for. Nothing is written."""

from __future__ import annotations

import asyncio

from vestibule.api.settings.schema import Settings
from vestibule.diagnose.offline import sandbox_sources
from vestibule.kube import preflight
from vestibule.kube.client import Client
from vestibule.kube.live_cluster import LiveCluster
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.manifests import adapt, install
from vestibule.manifests.adapt import AdaptedManifests


def run(settings: Settings, client: Client, beside: MemoryCluster) -> AdaptedManifests:
    """The objects for this cluster, and what an administrator should know first; what stands ``beside`` is
    stronger than what the cluster says about sandboxes.

    Raises InvalidInput with all that keeps the settings from the cluster, Forbidden or Unavailable when it
    cannot be asked. The client is closed.
    """
    return asyncio.run(_run(settings, client, beside))


async def _run(settings: Settings, client: Client, beside: MemoryCluster) -> AdaptedManifests:
    try:
        said = await sandbox_sources.read_sources(settings, beside, LiveCluster(client))
        objects = install.objects(settings, said.kata_policy)
        seen = await preflight.read_facts(client, objects)
    finally:
        await client.close()
    objects, warnings = adapt.adapt(objects, settings, seen)
    return AdaptedManifests(objects, [*said.warnings, *warnings])
