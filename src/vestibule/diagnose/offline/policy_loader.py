"""The policy as the webhook would have it: the settings, and what a directory or the files themselves say
beside them (IdentityPolicies, mappings, associations)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from vestibule.api import gvk, identitypolicy
from vestibule.api.settings import schema
from vestibule.diagnose.offline.manifest_files import ManifestFile
from vestibule.injection.policy import Policy, compile_policy
from vestibule.kube import manifest_object
from vestibule.kube.manifest_directory import DirectoryCluster
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.policy_sources import PolicySources


def policy(settings: schema.Settings, cluster: Any, files: Sequence[ManifestFile]) -> Policy:
    """The policy for these files. A live cluster is asked for nothing but what decisions about pods need."""
    own = [
        obj
        for file in files
        for document in file.documents
        for _, obj in manifest_object.flattened(document.value)
        if isinstance(obj, dict) and obj.get("kind") == identitypolicy.KIND
    ]
    supplements = PolicySources(objects(cluster, files))
    asyncio.run(supplements.look(settings))
    names = {(obj.get("metadata") or {}).get("name") for obj in own}
    there = [obj for obj in supplements.objects if (obj.get("metadata") or {}).get("name") not in names]
    whole = supplements.applied(settings)
    return compile_policy(whole, [*own, *there], supplements.kata_policy(whole))


def unused(settings: schema.Settings, cluster: Any) -> str:
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


def objects(cluster: Any, files: Sequence[ManifestFile]) -> MemoryCluster:
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
    return [
        obj
        for _, obj in manifest_object.flattened(value)
        if isinstance(obj, dict) and obj.get("kind") in kinds
    ]
