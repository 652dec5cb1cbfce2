"""The hosted controller, put together: its queue, what it listens to, and who it calls.

Guests are called with workers of their own, so that the operator's other work never waits for them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from vestibule.adapters.cluster import calls
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.guard import Guard
from vestibule.adapters.cluster.guests import Guests
from vestibule.apps.operator.hosted import kindtable, reconciler, removal
from vestibule.apps.operator.hosted.listening import Listening
from vestibule.apps.operator.hosted.reconciler import Reconciler
from vestibule.apps.operator.runtime import difference
from vestibule.apps.operator.runtime.apply import Applier
from vestibule.apps.operator.runtime.controller import Controller, Numbers
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Fence, Pen
from vestibule.apps.operator.runtime.watches import Watch, Watches
from vestibule.apps.operator.runtime.workqueue import Queue
from vestibule.core.kinds import gvk
from vestibule.core.kinds.gvk import Kind
from vestibule.core.kinds.hosted import HOSTED_WEBHOOK
from vestibule.core.native import kinds

Object = dict[str, Any]
NAME: Final = "hosted"
_OWNED: Final = (
    kinds.SECRET,
    gvk.DEPLOYMENT,
    kinds.SERVICE,
    kinds.BUDGET,
    kinds.NETWORK_POLICY,
    kinds.ENDPOINT_SLICE,
)
"""Slices of endpoints carry the labels of their Service."""
_NARROWED: Final = {"vcluster": "app=vcluster"}
"""Flavours whose objects are told apart by a label; a Secret with a kubeconfig cannot be, and is looked at
with every resync."""


class Parts(NamedTuple):
    """What the operator gives its controllers."""

    client: Client
    pen: Pen
    applier: Applier
    events: Events
    fence: Fence
    numbers: Numbers
    told: Callable[[str, list[Object]], None]
    now: Callable[[], datetime.datetime]
    image: str
    namespace: str
    namespaces: Sequence[str]
    """Where requests are looked for; none: everywhere."""
    workers: int
    resync: float
    guard: Guard = Guard()
    """Judges which addresses are dialled for what a request names."""


class Wired(NamedTuple):
    """What runs while we lead; to be closed."""

    controller: Controller[str]
    watches: Watches[str]
    guests: Guests
    listening: Listening

    async def close(self) -> None:
        """No guest is called any more."""
        await self.listening.close()
        await self.guests.close()


def wire(parts: Parts) -> Wired:
    """All of it, to be run."""
    queue: Queue[str] = Queue(workers=parts.workers)
    listening = Listening(queue.add)
    guests = Guests(listening.end, parts.guard)
    watches = Watches(parts.client, list(_watches(parts.namespaces, lambda: known)), queue.add)
    known = watches
    look = Reconciler(
        reconciler.Parts(
            parts.client,
            parts.pen,
            parts.applier,
            parts.events,
            guests,
            parts.fence,
            parts.image,
            parts.now,
            parts.namespace,
            parts.told,
            listening,
        )
    )
    controller = Controller(NAME, look, queue, parts.numbers, resync=parts.resync)
    return Wired(controller, watches, guests, listening)


def _watches(namespaces: Sequence[str], known: Callable[[], Watches[str]]) -> Iterator[Watch[str]]:
    """Requests, what we made for them beside control planes, and the control planes themselves."""

    def requests(namespace: str) -> Iterator[Object]:
        return known().known(HOSTED_WEBHOOK, namespace)

    def owned(obj: Object) -> Iterable[str]:
        owner = str((obj["metadata"].get("labels") or {}).get(difference.OWNER))
        namespace = str(obj["metadata"]["namespace"])
        return [_key(one) for one in requests(namespace) if removal.owner(one) == owner]

    def about(flavour: str) -> Callable[[Object], Iterable[str]]:
        def told(obj: Object) -> Iterable[str]:
            wanted = (flavour, str(obj["metadata"]["name"]))
            return [
                _key(one) for one in requests(str(obj["metadata"]["namespace"])) if _target(one) == wanted
            ]

        return told

    def near(obj: Object) -> Iterable[str]:
        return [_key(one) for one in requests(str(obj["metadata"]["namespace"]))]

    for namespace in namespaces or ("",):
        ours = calls.Scope(namespace, difference.OWNER)
        yield Watch(HOSTED_WEBHOOK, lambda obj: (_key(obj),), calls.Scope(namespace), optional=True)
        for kind in _OWNED:
            yield Watch(kind, owned, ours)
        for flavour, kind in _followed():
            selector = _NARROWED.get(flavour, "")
            yield Watch(kind, about(flavour), calls.Scope(namespace, selector), optional=True)
        for kind in kindtable.OWNERS.values():
            yield Watch(kind, near, calls.Scope(namespace), optional=True)


def _followed() -> Iterator[tuple[str, Kind]]:
    for flavour, kind in kindtable.CONTROL_PLANES.items():
        if kind is not kinds.SECRET:
            yield flavour, kind


def _key(request: Object) -> str:
    meta = request["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


def _target(request: Object) -> tuple[str, str]:
    target = (request.get("spec") or {}).get("target") or {}
    return str(target.get("flavour")), str(target.get("name"))
