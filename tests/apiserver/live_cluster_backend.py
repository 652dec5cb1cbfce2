"""The live cluster under the contract of ``tests/contract``: on a loop in a thread of its own, beside an
administrator who changes things.

A watch tells its kind's changes in order, so a marker that is seen means that everything before it was.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import selectors
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tests.apiserver.webhook_installation import path_of
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.injection.facts import SourceObject
from vestibule.kube import kubeconfig
from vestibule.kube.client import Client
from vestibule.kube.live_cluster import REFLECTED, LiveCluster
from vestibule.kube.ports import UNKNOWN, Unknown, WatchEvent

T = TypeVar("T")
Json = dict[str, Any]
SECONDS = 20.0
MARK = "cwii.dev/aws-role-session-name"


class Live:
    """A cluster that is read and watched; ``close`` must be called."""

    watched = frozenset(REFLECTED)
    absent: None | Unknown = UNKNOWN

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._selector = selectors.DefaultSelector()
        self._loop = asyncio.SelectorEventLoop(self._selector)
        self._thread = threading.Thread(target=self._loop.run_forever, name="live cluster", daemon=True)
        self._thread.start()
        self._numbers = itertools.count()
        self._ends: list[Callable[[], None]] = []
        self._namespaces: list[str] = []
        self.cluster = LiveCluster(Client(kubeconfig.load([plane.kubeconfig()])))
        self._watching = self.run(self._begin())
        process.wait("the first lists", lambda: self.cluster.synced, SECONDS)
        self._marker = plane.namespace("contract-marker")

    def close(self) -> None:
        """Stop watching, and leave the control plane as it was."""
        self.forget()
        self._plane.admin.delete(at("namespaces", name=self._marker))
        self.run(self._end())
        # one is the loop's own; on the others TLS says good-bye, and they are closed in the next round
        process.wait("the connections to close", lambda: len(self._selector.get_map()) <= 1, SECONDS)
        self.run(asyncio.sleep(0))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()

    async def _begin(self) -> asyncio.Task[None]:
        return asyncio.create_task(self.cluster.run())

    async def _end(self) -> None:
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)
        await self.cluster.close()

    def forget(self) -> None:
        """End what a test began."""
        for end in self._ends:
            end()
        for name in self._namespaces:
            self._plane.admin.delete(at("namespaces", name=name))
        self._ends, self._namespaces = [], []

    def namespace(self, stem: str) -> str:
        name = self._plane.namespace(stem)
        self._namespaces.append(name)
        self._settle()
        return name

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> SourceObject | None | Unknown:
        async def asked() -> SourceObject | None | Unknown:
            return self.cluster.peek(kind, namespace, name)

        return self.run(asked())

    def listen(self, namespace: str, callback: Callable[[WatchEvent], None]) -> Callable[[], None]:
        def heard(event: WatchEvent) -> None:
            if namespace in (event.source.namespace, event.source.name):
                callback(event)

        end = self.cluster.subscribe(heard)
        self._ends.append(end)
        return end

    def create(self, *objects: Json) -> list[Json]:
        stored = []
        for obj in map(copy.deepcopy, objects):
            obj["metadata"].pop("uid", None)  # the API server gives them
            stored.append(self._plane.admin.apply(path_of(obj), obj, "somebody", force=True).object)
        self._settle()
        return stored

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        obj = {"kind": kind.kind, "metadata": {"namespace": namespace, "name": name}}
        self._plane.admin.delete(path_of(obj)).object  # noqa: B018 - raises
        self._settle()

    def _settle(self) -> None:
        """Until the cluster has heard of everything that was changed before, of every kind it watches."""
        number = str(next(self._numbers))
        patch = {"metadata": {"annotations": {MARK: number}}}
        where = {gvk.NAMESPACE: ("", self._marker), gvk.SERVICE_ACCOUNT: (self._marker, "default")}
        assert set(where) == set(self.watched)
        for kind, (namespace, name) in where.items():
            self._plane.admin.patch(at(kind.plural, namespace, name), patch).object  # noqa: B018 - raises

        def seen(kind: Kind) -> bool:
            found = self.peek(kind, *where[kind])
            return isinstance(found, SourceObject) and found.annotations.get(MARK) == number

        for kind in where:
            process.wait(f"the marker of {kind}", lambda kind=kind: seen(kind), SECONDS)  # type: ignore[misc]
