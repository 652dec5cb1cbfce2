"""The policy as the webhook would have it: the settings, and what a directory or the files themselves say
beside them (IdentityPolicies, mappings, associations)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from vestibule.adapters.cluster import entity
from vestibule.adapters.cluster.manifests import DirectoryCluster
from vestibule.adapters.cluster.memory import MemoryCluster
from vestibule.adapters.cluster.supplements import Supplements
from vestibule.apps.offline.documents import File
from vestibule.core.kinds import config, gvk, identitypolicy
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
    supplements = Supplements(objects(cluster, files))
    asyncio.run(supplements.look(settings))
    names = {(obj.get("metadata") or {}).get("name") for obj in own}
    there = [obj for obj in supplements.objects if (obj.get("metadata") or {}).get("name") not in names]
    whole = supplements.applied(settings)
    return compile_policy(whole, [*own, *there], supplements.world(whole))


def unused(settings: config.Settings, cluster: Any) -> str:
    """What a directory holds that the settings leave out, in one sentence; empty: nothing."""
    if settings.identity_policies or not isinstance(cluster, DirectoryCluster | MemoryCluster):
        return ""
    names = [str((obj.get("metadata") or {}).get("name")) for obj in cluster.objects(gvk.IDENTITY_POLICY)]
    if not names:
        return ""
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (
        f"IdentityPolicies in the cluster directory are not applied ({listed}): identityPolicies is false in "
        "the settings, want true if the webhook reads them"
    )


def objects(cluster: Any, files: Sequence[File]) -> MemoryCluster:
    """What stands beside the settings, in a directory and in files; those of the files are stronger."""
    if not isinstance(cluster, DirectoryCluster | MemoryCluster):
        cluster = MemoryCluster()
    return MemoryCluster(
        [obj for kind in _BESIDE for obj in cluster.objects(kind)]
        + [obj for file in files for document in file.documents for obj in _kinds(document.value)]
    )


_BESIDE: Final = (
    gvk.CONFIG_MAP, gvk.IDENTITY_POLICY, gvk.KATA_CONFIG, gvk.OSC_WEBHOOK_CONFIG, gvk.RUNTIME_CLASS,
)  # fmt: skip


def _kinds(value: Any) -> list[dict[str, Any]]:
    kinds = {kind.kind for kind in _BESIDE} - {"IdentityPolicy"}
    return [obj for _, obj in entity.flattened(value) if isinstance(obj, dict) and obj.get("kind") in kinds]
