"""The ARO controllers, put together: three queues, what they listen to, and whom they ask."""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NamedTuple

from vestibule.api import aso
from vestibule.api.gvk import Kind
from vestibule.aro import cluster, controlplane, embedded, eventhandlers, lifecycle, machinepool, names
from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube.client import Client
from vestibule.kube.discovery import Discovery
from vestibule.manifests import kinds
from vestibule.operator.controller import Controller, ControllerMetrics
from vestibule.operator.controllers.aro.apply import AroApplier
from vestibule.operator.controllers.aro.informers import AroInformers
from vestibule.operator.controllers.aro.key_vaults import KeyVaults
from vestibule.operator.controllers.aro.reader import KeyReader, NodeReader, ReaderSources
from vestibule.operator.controllers.aro.reconciler import AroReconciler, AroReconcilerDeps, Decide
from vestibule.operator.controllers.aro.workload_nodes import WorkloadNodes
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import FencedClient
from vestibule.operator.workqueue import Queue
from vestibule.telemetry.aro_metrics import AroMetrics

Object = dict[str, Any]
_DECIDE: Final[dict[Kind, Decide]] = {
    names.ARO_CLUSTER: cluster.decide,
    names.ARO_CONTROL_PLANE: controlplane.decide,
    names.ARO_MACHINE_POOL: machinepool.decide,
}
_NAMESPACE: Final = Kind("", "v1", "Namespace", "namespaces", namespaced=False)


class AroControllerDeps(NamedTuple):
    """What the operator gives."""

    client: Client
    writer: FencedClient
    events: Events
    numbers: ControllerMetrics
    told: Callable[[str, str, list[Object]], None]
    shown: AroMetrics
    now: Callable[[], datetime.datetime]
    keys: KeyReader
    workloads: NodeReader
    workers: int
    resync: float
    filter: str = ""
    """Value of the watch-filter label; empty: all objects."""
    permitted: aso.PermittedKinds = aso.STANDARD
    """Kinds that may be embedded."""
    checked: Callable[[], datetime.datetime | None] = lambda: None
    """Since when deletions are asked about."""
    ending: Callable[[], Awaitable[None]] | None = None
    """What is closed at the end."""


class AroControllers:
    """What runs while we lead; to be closed."""

    def __init__(self, given: AroControllerDeps) -> None:
        self._filter = given.filter
        self._ending = given.ending
        self._queues: dict[str, Queue[str]] = {kind.kind: Queue(workers=given.workers) for kind in _DECIDE}
        discovery = Discovery(given.client)
        for kind in (*_DECIDE, names.CLUSTER, names.MACHINE_POOL, names.IDENTITY, kinds.SECRET, _NAMESPACE):
            discovery.known(kind)
        self.informer_cache = AroInformers(given.client, discovery, self._tell)
        self._permitted = given.permitted
        sources = ReaderSources(
            given.client,
            discovery,
            self.informer_cache,
            given.keys,
            given.workloads,
            self._inside,
            given.permitted,
            given.checked,
        )
        performer = AroApplier(given.client, given.writer, self.informer_cache, discovery, given.permitted)
        parts = AroReconcilerDeps(sources, performer, given.events, given.now, given.told, given.shown)
        self.controllers = [
            Controller(
                kind.kind.lower(),
                AroReconciler(kind, decide, parts),
                self._queues[kind.kind],
                given.numbers,
                resync=given.resync,
            )
            for kind, decide in _DECIDE.items()
        ]
        self._discovery = discovery

    def begin(self) -> None:
        """Listen; embedded kinds follow from what the objects say."""
        watch = self.informer_cache.watch
        watch(names.CLUSTER, self._whole)
        watch(names.MACHINE_POOL, lambda obj: _keys(eventhandlers.machine_pool(obj)))
        watch(names.ARO_CLUSTER, self._own_and_beside)
        watch(names.ARO_MACHINE_POOL, self._own_and_beside)
        watch(names.ARO_CONTROL_PLANE, self._control_plane)

    def _whole(self, obj: Object) -> list[str]:
        pools = self.informer_cache.list(names.ARO_MACHINE_POOL, lifecycle.namespace(obj))
        return _keys(eventhandlers.all_of_cluster(obj, pools))

    def _clusters(self, obj: Object) -> list[Object]:
        """The Clusters that an object belongs to, by its label or its owner."""
        owner = lifecycle.owner(obj, "Cluster")
        meant = {lifecycle.labels_of(obj).get(names.CLUSTER_NAME), owner.name if owner is not None else None}
        found = (
            self.informer_cache.get(names.CLUSTER, lifecycle.namespace(obj), name) for name in meant if name
        )
        return [one for one in found if one is not None]

    def _own_and_beside(self, obj: Object) -> list[str]:
        self._listen_inside(obj)
        return [
            *_keys(eventhandlers.own(obj)),
            *_keys(eventhandlers.sibling_control_plane(obj, self._clusters(obj))),
        ]

    def _control_plane(self, obj: Object) -> list[str]:
        self._listen_inside(obj)
        infrastructure = eventhandlers.control_plane(obj, self._clusters(obj))
        return [*_keys(eventhandlers.own(obj)), *_keys(infrastructure), *self._pools(obj)]

    def _pools(self, obj: Object) -> list[str]:
        name = lifecycle.labels_of(obj).get(names.CLUSTER_NAME) or str(obj["metadata"]["name"])
        namespace = lifecycle.namespace(obj)
        return _keys(
            eventhandlers.pools_of(
                name, namespace, self.informer_cache.list(names.ARO_MACHINE_POOL, namespace)
            )
        )

    def _listen_inside(self, obj: Object) -> None:
        """Kinds that this object may have created are listened to from now on, also after a restart."""
        text = lifecycle.annotations_of(obj).get(names.OWNED_KINDS) or ""
        for gvk in embedded.parse_owned(text)[0]:
            known = self._discovery.at_hand(*gvk)
            if known is not None and self._permitted.find(gvk.group, gvk.kind) is not None:
                self.informer_cache.watch(known, self._inside)

    def _inside(self, obj: Object) -> list[str]:
        """An embedded object concerns its owner. Pools and cluster read each other's, perhaps in another
        version, whose watch may be behind: so both are told."""
        found = list(eventhandlers.inside(obj))
        told = _keys(found)
        if embedded.of(obj).group == names.OPENSHIFT:
            for kind, namespace, name in found:
                holder = next(one for one in _DECIDE if one.kind == kind)
                owner = self.informer_cache.get(holder, namespace, name)
                if owner is not None and holder is names.ARO_MACHINE_POOL:
                    told += _keys(eventhandlers.sibling_control_plane(owner, self._clusters(owner)))
                elif owner is not None and holder is names.ARO_CONTROL_PLANE:
                    told += self._pools(owner)
        return told

    def _tell(self, key: str) -> None:
        kind, _, rest = key.partition("/")
        queue = self._queues.get(kind)
        if queue is not None and self._ours(kind, rest):
            queue.add(rest)

    def _ours(self, kind: str, key: str) -> bool:
        if not self._filter:
            return True
        namespace, _, name = key.partition("/")
        known = next(one for one in _DECIDE if one.kind == kind)
        found = self.informer_cache.get(known, namespace, name)
        return found is None or lifecycle.labels_of(found).get(names.WATCH_FILTER) == self._filter

    async def close(self) -> None:
        """Listen to nothing any more."""
        await self.informer_cache.close()
        if self._ending is not None:
            await self._ending()


def wire(
    client: Client,
    writer: FencedClient,
    events: Events,
    numbers: ControllerMetrics,
    told: Callable[[str, str, list[Object]], None],
    shown: AroMetrics,
    now: Callable[[], datetime.datetime],
    *,
    cloud: str,
    workers: int,
    resync: float,
    watch_filter: str,
    permitted: aso.PermittedKinds = aso.STANDARD,
    checked: Callable[[], datetime.datetime | None] = lambda: None,
    namespace: str = "",
    guard: AddressGuard,
) -> AroControllers:
    """All of it, with the real Azure and the real workload clusters."""
    nodes = WorkloadNodes(client, guard)
    given = AroControllerDeps(
        client,
        writer,
        events,
        numbers,
        told,
        shown,
        now,
        KeyVaults(client, cloud, resync * 0.9, shown.keys, namespace=namespace),
        nodes,
        workers,
        resync,
        watch_filter,
        permitted,
        checked,
        nodes.close,
    )
    return AroControllers(given)


def _keys(found: Iterable[eventhandlers.Key]) -> list[str]:
    return ["/".join(key) for key in found]
