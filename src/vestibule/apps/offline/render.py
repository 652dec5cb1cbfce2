"""The objects of an installation, looked at beside the live cluster they are for. Nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vestibule.adapters.cluster import survey
from vestibule.adapters.cluster.client import Client
from vestibule.core.kinds.config import Settings
from vestibule.core.native import adaptation, install
from vestibule.core.native.adaptation import Adapted
from vestibule.core.native.observed import Object, Observed


def run(settings: Settings, client: Client) -> Adapted:
    """The objects for this cluster, and what an administrator should know first.

    Raises InvalidInput with all that keeps the settings from the cluster, Forbidden or Unavailable when it
    cannot be asked. The client is closed.
    """
    objects = install.objects(settings)
    return adaptation.adapt(objects, settings, asyncio.run(_look(client, objects)))


async def _look(client: Client, objects: Sequence[Object]) -> Observed:
    try:
        return await survey.look(client, objects)
    finally:
        await client.close()
