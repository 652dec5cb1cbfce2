"""The objects of an installation, adapted to a live cluster. Nothing is written."""

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


def run(settings: Settings, client: Client, overrides: MemoryCluster) -> AdaptedManifests:
    """The objects for this cluster, and warnings for the administrator; the objects ``overrides`` take
    precedence over the cluster's sandbox objects.

    Raises InvalidInput with all conflicts of settings and cluster, Forbidden or Unavailable if it cannot be
    read. The client is closed.
    """
    return asyncio.run(_run(settings, client, overrides))


async def _run(settings: Settings, client: Client, overrides: MemoryCluster) -> AdaptedManifests:
    try:
        sources = await sandbox_sources.read_sources(settings, overrides, LiveCluster(client))
        objects = install.objects(settings, sources.kata_policy)
        seen = await preflight.read_facts(client, objects)
    finally:
        await client.close()
    objects, warnings = adapt.adapt(objects, settings, seen)
    return AdaptedManifests(objects, [*sources.warnings, *warnings])
