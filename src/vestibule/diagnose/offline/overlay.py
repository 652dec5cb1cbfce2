"""Two clusters as one: what the input brings along lies over what the cluster holds already."""

from __future__ import annotations

from typing import Protocol

from vestibule.api.gvk import Kind
from vestibule.injection.facts import SourceObject
from vestibule.kube import ports
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.ports import Unknown


class ReadableCluster(ports.Reader, ports.Cache, Protocol):
    """A cluster that can be asked, and let go."""

    async def close(self) -> None:
        """Let go of every connection."""
        ...


class OverlayCluster:
    """Fulfils Reader and Cache; what neither cluster knows does not exist."""

    def __init__(self, above: MemoryCluster, below: ReadableCluster | None) -> None:
        self._above = above
        self._below = below

    async def close(self) -> None:
        """Let go of the cluster below."""
        if self._below is not None:
            await self._below.close()

    @property
    def synced(self) -> bool:
        """See Cache."""
        return self._below is None or self._below.synced

    async def get(self, kind: Kind, namespace: str, name: str) -> SourceObject | None:
        """See Reader."""
        found = await self._above.get(kind, namespace, name)
        if found is not None or self._below is None:
            return found
        return await self._below.get(kind, namespace, name)

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> SourceObject | None | Unknown:
        """See Cache."""
        found = self._above.peek(kind, namespace, name, uid)
        if found is not None or self._below is None:
            return found
        return self._below.peek(kind, namespace, name, uid)
