"""The back ends that fulfil the cluster ports, each behind the same few verbs a test needs.

To put another one under the contract, write a class with these methods and add it to ``BACKENDS``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from vestibule.adapters.cluster import ports
from vestibule.adapters.cluster.manifests import DirectoryCluster
from vestibule.adapters.cluster.memory import MemoryCluster
from vestibule.core.kinds import gvk
from vestibule.core.kinds.gvk import Kind


class Cluster(ports.Reader, ports.Cache, ports.Watcher, ports.Writer, Protocol):
    """All four roles."""


class Backend(Protocol):
    """A cluster under test, and somebody else who changes it."""

    @property
    def cluster(self) -> Cluster:
        """What is tested."""
        ...

    def create(self, *objects: dict[str, Any]) -> None:
        """Somebody creates or overwrites objects; returns when the cluster had its chance to notice."""
        ...

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        """Somebody deletes an object; returns when the cluster had its chance to notice."""
        ...


class Memory:
    """Objects in memory."""

    def __init__(self, _: Path) -> None:
        self.cluster = MemoryCluster()

    def create(self, *objects: dict[str, Any]) -> None:
        for obj in objects:
            self.cluster.put(obj)

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        self.cluster.remove(kind, namespace, name)


class Directory:
    """A directory with one file per object."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.cluster = DirectoryCluster(path)
        self.cluster.load()

    def create(self, *objects: dict[str, Any]) -> None:
        for obj in objects:
            meta = obj["metadata"]
            file = self._file(gvk.BY_KIND[obj["kind"]], meta.get("namespace", ""), meta["name"])
            file.write_text(json.dumps(obj))
        self.cluster.check()

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        self._file(kind, namespace, name).unlink()
        self.cluster.check()

    def _file(self, kind: Kind, namespace: str, name: str) -> Path:
        return self._path / f"{kind.plural}_{namespace}_{name}.json"


BACKENDS: dict[str, Callable[[Path], Backend]] = {"memory": Memory, "directory": Directory}
