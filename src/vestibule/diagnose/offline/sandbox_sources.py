"""The sandbox objects of directories, files and a live cluster, for rendering the webhook configuration."""

from __future__ import annotations

from typing import Any, NamedTuple

from vestibule import errors
from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.api.settings.schema import Settings
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.ports import ObjectLister
from vestibule.kube.sandbox_sources import SandboxSources


class SandboxSourcesRead(NamedTuple):
    """The sandbox policy, and warnings about objects that cannot be used."""

    kata_policy: SandboxPolicy | None
    warnings: list[str]


async def read_sources(
    settings: Settings, own: MemoryCluster, below: ObjectLister | None = None
) -> SandboxSourcesRead:
    """The objects of ``own`` and of the cluster; an object of ``own`` replaces its namesake in the cluster.

    Raises Unavailable when the cluster does not answer.
    """
    if not settings.sandbox.enabled:
        names = [str(obj["metadata"]["name"]) for obj in own.objects(gvk.KATA_CONFIG)]
        return SandboxSourcesRead(
            None, [f"KataConfig {name}: ignored, sandbox.enabled is false, want true" for name in names]
        )
    problems: dict[str, str] = {}
    found = SandboxSources(own if below is None else _OverlayLister(own, below))
    try:
        await found.look()
    except errors.Forbidden as error:
        return SandboxSourcesRead(
            None, [f"not read: {error}: no webhook configuration for sandboxes is printed"]
        )
    kata_policy = found.kata_policy(settings, problems)
    warnings = [f"{place}: {text}" for place, text in problems.items() if not _about_initdata(place)]
    if kata_policy.active and not kata_policy.kata_classes:
        warnings.append(
            "KataConfig: status.runtimeClasses is empty, want the Kata classes: pods that have one are not "
            "sent for their sandbox"
        )
    return SandboxSourcesRead(kata_policy, warnings)


def _about_initdata(place: str) -> bool:
    """The webhook configuration does not depend on initdata, which the user may not be able to read."""
    return place.startswith("ConfigMap ") or place.endswith("spec.webhook.annotations.initdata")


class _OverlayLister:
    """Objects over a cluster."""

    def __init__(self, own: MemoryCluster, below: ObjectLister) -> None:
        self._own, self._below = own, below

    async def fetch(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """See ObjectLister."""
        return await self._own.fetch(kind, namespace, name) or await self._below.fetch(kind, namespace, name)

    async def listing(self, kind: Kind) -> list[dict[str, Any]]:
        """See ObjectLister."""
        both = [*await self._below.listing(kind), *await self._own.listing(kind)]
        by_name = {str((obj.get("metadata") or {}).get("name")): obj for obj in both}
        return [by_name[name] for name in sorted(by_name)]

    async def version(self) -> str:
        """See ObjectLister."""
        return await self._below.version()
