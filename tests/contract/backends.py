"""The back ends that fulfil the cluster ports, each behind the same few verbs a test needs.

To put another one under the contract, write a class with these methods and a fixture that gives it to
``ClusterContract``. Those that need nothing but a folder stand here; the live one needs an API server and
stands in ``tests/apiserver``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeVar

from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.injection.facts import SourceObject
from vestibule.kube import ports
from vestibule.kube.manifest_directory import DirectoryCluster
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.ports import Unknown, WatchEvent

T = TypeVar("T")
Json = dict[str, Any]


class Cluster(ports.Reader, ports.Cache, ports.Watcher, ports.Writer, Protocol):
    """All four roles."""


class Backend(Protocol):
    """A cluster under test, and somebody else who changes it."""

    watched: frozenset[Kind]
    """The kinds whose changes are told."""
    absent: None | Unknown
    """What the cache says of an object that it has never seen and nobody has asked for."""

    @property
    def cluster(self) -> Cluster:
        """What is tested. Its callbacks may come from another thread."""
        ...

    def namespace(self, stem: str) -> str:
        """The name of a namespace that no other test uses; it exists where namespaces must."""
        ...

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the cluster where it belongs."""
        ...

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> SourceObject | None | Unknown:
        """What the cache says, asked where the cluster belongs."""
        ...

    def listen(self, namespace: str, callback: Callable[[WatchEvent], None]) -> Callable[[], None]:
        """Call back on every change from now on; the returned function ends it.

        Where others are at work at the same time, only changes in this namespace count.
        """
        ...

    def create(self, *objects: Json) -> list[Json]:
        """Somebody creates or overwrites objects; returns them as they are kept, when the cluster had its
        chance to notice."""
        ...

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        """Somebody deletes an object; returns when the cluster had its chance to notice."""
        ...


class _Embedded:
    """What the back ends without a server share: they know everything, and nobody else is there."""

    watched = frozenset(gvk.KNOWN)
    absent: None | Unknown = None
    cluster: MemoryCluster | DirectoryCluster

    def namespace(self, stem: str) -> str:
        return stem

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> SourceObject | None | Unknown:
        return self.cluster.peek(kind, namespace, name)

    def listen(self, namespace: str, callback: Callable[[WatchEvent], None]) -> Callable[[], None]:
        del namespace  # all that is told counts
        return self.cluster.subscribe(callback)


class Memory(_Embedded):
    """Objects in memory."""

    def __init__(self, _: Path) -> None:
        self.cluster: MemoryCluster = MemoryCluster()

    def create(self, *objects: Json) -> list[Json]:
        for obj in objects:
            self.cluster.put(obj)
        return list(objects)

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        self.cluster.remove(kind, namespace, name)


class Directory(_Embedded):
    """A directory with one file per object."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.cluster: DirectoryCluster = DirectoryCluster(path)
        self.cluster.load()

    def create(self, *objects: Json) -> list[Json]:
        for obj in objects:
            meta = obj["metadata"]
            file = self._file(gvk.BY_KIND[obj["kind"]], meta.get("namespace", ""), meta["name"])
            file.write_text(json.dumps(obj))
        self.cluster.check()
        return list(objects)

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        self._file(kind, namespace, name).unlink()
        self.cluster.check()

    def _file(self, kind: Kind, namespace: str, name: str) -> Path:
        return self._path / f"{kind.plural}_{namespace}_{name}.json"


EMBEDDED: dict[str, Callable[[Path], Backend]] = {"memory": Memory, "directory": Directory}
