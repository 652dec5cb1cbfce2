"""The ARO controllers, put together: three queues, what they listen to, and whom they ask."""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NamedTuple

from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.discovery import Discovery
from vestibule.adapters.cluster.guard import Guard
from vestibule.adapters.observe.clusters import Clusters
from vestibule.apps.operator.aro.perform import Performer
from vestibule.apps.operator.aro.reconciler import Decide, Parts, Reconciler
from vestibule.apps.operator.aro.sight import Sight
from vestibule.apps.operator.aro.vaults import Vaults
from vestibule.apps.operator.aro.view import Keys, Sources, Workloads
from vestibule.apps.operator.aro.workloads import Nodes
from vestibule.apps.operator.runtime.controller import Controller, Numbers
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Pen
from vestibule.apps.operator.runtime.workqueue import Queue
from vestibule.core.aro import cluster, controlplane, embedded, machinepool, mapping, names, subject
from vestibule.core.kinds import asokinds
from vestibule.core.kinds.gvk import Kind
from vestibule.core.native import kinds

Object = dict[str, Any]
_DECIDE: Final[dict[Kind, Decide]] = {
    names.ARO_CLUSTER: cluster.decide,
    names.ARO_CONTROL_PLANE: controlplane.decide,
    names.ARO_MACHINE_POOL: machinepool.decide,
}
_NAMESPACE: Final = Kind("", "v1", "Namespace", "namespaces", namespaced=False)


class Given(NamedTuple):
    """What the operator gives."""

    client: Client
    pen: Pen
    events: Events
    numbers: Numbers
    told: Callable[[str, str, list[Object]], None]
    shown: Clusters
    now: Callable[[], datetime.datetime]
    keys: Keys
    workloads: Workloads
    workers: int
    resync: float
    filter: str = ""
    """Value of the watch-filter label; empty: all objects."""
    permitted: asokinds.Permitted = asokinds.STANDARD
    """Kinds that may be embedded."""
    checked: Callable[[], datetime.datetime | None] = lambda: None
    """Since when deletions are asked about."""
    ending: Callable[[], Awaitable[None]] | None = None
    """What is closed at the end."""


class Wired:
    """What runs while we lead; to be closed."""

    def __init__(self, given: Given) -> None:
        self._filter = given.filter
        self._ending = given.ending
        self._queues: dict[str, Queue[str]] = {kind.kind: Queue(workers=given.workers) for kind in _DECIDE}
        discovery = Discovery(given.client)
        for kind in (*_DECIDE, names.CLUSTER, names.MACHINE_POOL, names.IDENTITY, kinds.SECRET, _NAMESPACE):
            discovery.known(kind)
        self.sight = Sight(given.client, discovery, self._tell)
        self._permitted = given.permitted
        sources = Sources(
            given.client,
            discovery,
            self.sight,
            given.keys,
            given.workloads,
            self._inside,
            given.permitted,
            given.checked,
        )
        performer = Performer(given.client, given.pen, self.sight, discovery, given.permitted)
        parts = Parts(sources, performer, given.events, given.now, given.told, given.shown)
        self.controllers = [
            Controller(
                kind.kind.lower(),
                Reconciler(kind, decide, parts),
                self._queues[kind.kind],
                given.numbers,
                resync=given.resync,
            )
            for kind, decide in _DECIDE.items()
        ]
        self._discovery = discovery

    def begin(self) -> None:
        """Listen; embedded kinds follow from what the objects say."""
        watch = self.sight.watch
        watch(names.CLUSTER, self._whole)
        watch(names.MACHINE_POOL, lambda obj: _keys(mapping.machine_pool(obj)))
        watch(names.ARO_CLUSTER, self._own_and_beside)
        watch(names.ARO_MACHINE_POOL, self._own_and_beside)
        watch(names.ARO_CONTROL_PLANE, self._control_plane)

    def _whole(self, obj: Object) -> list[str]:
        pools = self.sight.list(names.ARO_MACHINE_POOL, subject.namespace(obj))
        return _keys(mapping.whole(obj, pools))

    def _clusters(self, obj: Object) -> list[Object]:
        """The Clusters that an object belongs to, by its label or its owner."""
        owner = subject.owner(obj, "Cluster")
        meant = {subject.labels_of(obj).get(names.CLUSTER_NAME), owner.name if owner is not None else None}
        found = (self.sight.get(names.CLUSTER, subject.namespace(obj), name) for name in meant if name)
        return [one for one in found if one is not None]

    def _own_and_beside(self, obj: Object) -> list[str]:
        self._listen_inside(obj)
        return [*_keys(mapping.own(obj)), *_keys(mapping.beside(obj, self._clusters(obj)))]

    def _control_plane(self, obj: Object) -> list[str]:
        self._listen_inside(obj)
        infrastructure = mapping.control_plane(obj, self._clusters(obj))
        return [*_keys(mapping.own(obj)), *_keys(infrastructure), *self._pools(obj)]

    def _pools(self, obj: Object) -> list[str]:
        name = subject.labels_of(obj).get(names.CLUSTER_NAME) or str(obj["metadata"]["name"])
        namespace = subject.namespace(obj)
        return _keys(mapping.pools_of(name, namespace, self.sight.list(names.ARO_MACHINE_POOL, namespace)))

    def _listen_inside(self, obj: Object) -> None:
        """Kinds that this object may have created are listened to from now on, also after a restart."""
        text = subject.annotations_of(obj).get(names.OWNED_KINDS) or ""
        for gvk in embedded.parse_owned(text)[0]:
            known = self._discovery.at_hand(*gvk)
            if known is not None and self._permitted.find(gvk.group, gvk.kind) is not None:
                self.sight.watch(known, self._inside)

    def _inside(self, obj: Object) -> list[str]:
        """An embedded object concerns its owner. Pools and cluster read each other's, perhaps in another
        version, whose watch may be behind: so both are told."""
        found = list(mapping.inside(obj))
        told = _keys(found)
        if embedded.of(obj).group == names.OPENSHIFT:
            for kind, namespace, name in found:
                holder = next(one for one in _DECIDE if one.kind == kind)
                owner = self.sight.get(holder, namespace, name)
                if owner is not None and holder is names.ARO_MACHINE_POOL:
                    told += _keys(mapping.beside(owner, self._clusters(owner)))
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
        found = self.sight.get(known, namespace, name)
        return found is None or subject.labels_of(found).get(names.WATCH_FILTER) == self._filter

    async def close(self) -> None:
        """Listen to nothing any more."""
        await self.sight.close()
        if self._ending is not None:
            await self._ending()


def wire(
    client: Client,
    pen: Pen,
    events: Events,
    numbers: Numbers,
    told: Callable[[str, str, list[Object]], None],
    shown: Clusters,
    now: Callable[[], datetime.datetime],
    *,
    cloud: str,
    workers: int,
    resync: float,
    watch_filter: str,
    permitted: asokinds.Permitted = asokinds.STANDARD,
    checked: Callable[[], datetime.datetime | None] = lambda: None,
    namespace: str = "",
    guard: Guard,
) -> Wired:
    """All of it, with the real Azure and the real workload clusters."""
    nodes = Nodes(client, guard)
    given = Given(
        client,
        pen,
        events,
        numbers,
        told,
        shown,
        now,
        Vaults(client, cloud, resync * 0.9, shown.keys, namespace=namespace),
        nodes,
        workers,
        resync,
        watch_filter,
        permitted,
        checked,
        nodes.close,
    )
    return Wired(given)


def _keys(found: Iterable[mapping.Key]) -> list[str]:
    return ["/".join(key) for key in found]
