"""The webhook's policy: the settings and the policy sources in a directory or in the files
(IdentityPolicies, mappings, associations)."""

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
    """The policy for these files. From a live cluster, only what decisions about pods need is read."""
    own = [
        obj
        for file in files
        for document in file.documents
        for _, obj in manifest_object.flattened(document.value)
        if isinstance(obj, dict) and obj.get("kind") == identitypolicy.KIND
    ]
    sources = PolicySources(objects(cluster, files))
    asyncio.run(sources.look(settings))
    names = {(obj.get("metadata") or {}).get("name") for obj in own}
    others = [obj for obj in sources.objects if (obj.get("metadata") or {}).get("name") not in names]
    applied = sources.applied(settings)
    return compile_policy(applied, [*own, *others], sources.kata_policy(applied))


def unused(settings: schema.Settings, cluster: Any) -> str:
    """A warning about IdentityPolicies in a directory that the settings ignore; empty: none."""
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
    """The policy sources in a directory and in files; those of the files take precedence."""
    if not isinstance(cluster, DirectoryCluster | MemoryCluster):
        cluster = MemoryCluster()
    return MemoryCluster(
        [obj for kind in _SOURCE_KINDS for obj in cluster.objects(kind)]
        + [obj for file in files for document in file.documents for obj in _kinds(document.value)]
    )


_SOURCE_KINDS: Final = (
    gvk.CONFIG_MAP, gvk.IDENTITY_POLICY, gvk.KATA_CONFIG, gvk.OSC_WEBHOOK_CONFIG, gvk.RUNTIME_CLASS,
)  # fmt: skip


def _kinds(value: Any) -> list[dict[str, Any]]:
    kinds = {kind.kind for kind in _SOURCE_KINDS} - {"IdentityPolicy"}
    return [
        obj
        for _, obj in manifest_object.flattened(value)
        if isinstance(obj, dict) and obj.get("kind") in kinds
    ]
