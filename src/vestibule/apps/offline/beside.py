"""The policy as the webhook would have it: the settings, and what a directory or the files themselves say
beside them (IdentityPolicies, mappings, associations)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from vestibule.adapters.cluster import entity
from vestibule.adapters.cluster.manifests import DirectoryCluster
from vestibule.adapters.cluster.memory import MemoryCluster
from vestibule.apps.offline.documents import File
from vestibule.apps.webhook.supplements import Supplements
from vestibule.core.kinds import config, identitypolicy
from vestibule.core.mutation.policy import Policy, compile_policy


def policy(settings: config.Settings, cluster: Any, files: Sequence[File]) -> Policy:
    """The policy for these files. A live cluster is asked for nothing but what decisions about pods need."""
    own = [
        obj
        for file in files
        for document in file.documents
        for _, obj in entity.flattened(document.value)
        if isinstance(obj, dict) and obj.get("kind") == identitypolicy.KIND
    ]
    if not isinstance(cluster, DirectoryCluster | MemoryCluster):
        return compile_policy(settings, own)
    supplements = Supplements(cluster)
    asyncio.run(supplements.look(settings))
    names = {(obj.get("metadata") or {}).get("name") for obj in own}
    there = [obj for obj in supplements.objects if (obj.get("metadata") or {}).get("name") not in names]
    return compile_policy(supplements.applied(settings), [*own, *there])
