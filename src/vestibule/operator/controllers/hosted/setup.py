"""The hosted controller, put together: its queue, what it listens to, and who it calls.

Guests are called with workers of their own, so that the operator's other work never waits for them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.api.hostedwebhook import HOSTED_WEBHOOK
from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube import api_requests
from vestibule.kube.client import Client
from vestibule.kube.client_pool import ClientPool
from vestibule.manifests import kinds
from vestibule.operator import drift
from vestibule.operator.apply import Applier
from vestibule.operator.controller import Controller, ControllerMetrics
from vestibule.operator.controllers.hosted import finalize, hosted_kinds, reconciler
from vestibule.operator.controllers.hosted.hosted_informers import HostedInformers
from vestibule.operator.controllers.hosted.reconciler import HostedReconciler
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import FencedClient, Leadership
from vestibule.operator.watches import Watch, Watches
from vestibule.operator.workqueue import Queue

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


class HostedControllerDeps(NamedTuple):
    """What the operator gives its controllers."""

    client: Client
    writer: FencedClient
    applier: Applier
    events: Events
    leadership: Leadership
    numbers: ControllerMetrics
    told: Callable[[str, list[Object]], None]
    now: Callable[[], datetime.datetime]
    image: str
    namespace: str
    namespaces: Sequence[str]
    """Where requests are looked for; none: everywhere."""
    workers: int
    resync: float
    guard: AddressGuard = AddressGuard()
    """Judges which addresses are dialled for what a request names."""


class HostedControllers(NamedTuple):
    """What runs while we lead; to be closed."""

    controller: Controller[str]
    watches: Watches[str]
    guests: ClientPool
    listening: HostedInformers

    async def close(self) -> None:
        """No guest is called any more."""
        await self.listening.close()
        await self.guests.close()


def wire(parts: HostedControllerDeps) -> HostedControllers:
    """All of it, to be run."""
    queue: Queue[str] = Queue(workers=parts.workers)
    listening = HostedInformers(queue.add)
    guests = ClientPool(listening.end, parts.guard)
    watches = Watches(parts.client, list(_watches(parts.namespaces, lambda: known)), queue.add)
    known = watches
    look = HostedReconciler(
        reconciler.HostedReconcilerDeps(
            parts.client,
            parts.writer,
            parts.applier,
            parts.events,
            guests,
            parts.leadership,
            parts.image,
            parts.now,
            parts.namespace,
            parts.told,
            listening,
        )
    )
    controller = Controller(NAME, look, queue, parts.numbers, resync=parts.resync)
    return HostedControllers(controller, watches, guests, listening)


def _watches(namespaces: Sequence[str], known: Callable[[], Watches[str]]) -> Iterator[Watch[str]]:
    """Requests, what we made for them beside control planes, and the control planes themselves."""

    def requests(namespace: str) -> Iterator[Object]:
        return known().known(HOSTED_WEBHOOK, namespace)

    def owned(obj: Object) -> Iterable[str]:
        owner = str((obj["metadata"].get("labels") or {}).get(drift.OWNER))
        namespace = str(obj["metadata"]["namespace"])
        return [_key(one) for one in requests(namespace) if finalize.owner(one) == owner]

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
        ours = api_requests.ListScope(namespace, drift.OWNER)
        yield Watch(
            HOSTED_WEBHOOK, lambda obj: (_key(obj),), api_requests.ListScope(namespace), optional=True
        )
        for kind in _OWNED:
            yield Watch(kind, owned, ours)
        for flavour, kind in _followed():
            selector = _NARROWED.get(flavour, "")
            yield Watch(kind, about(flavour), api_requests.ListScope(namespace, selector), optional=True)
        for kind in hosted_kinds.OWNERS.values():
            yield Watch(kind, near, api_requests.ListScope(namespace), optional=True)


def _followed() -> Iterator[tuple[str, Kind]]:
    for flavour, kind in hosted_kinds.CONTROL_PLANES.items():
        if kind is not kinds.SECRET:
            yield flavour, kind


def _key(request: Object) -> str:
    meta = request["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


def _target(request: Object) -> tuple[str, str]:
    target = (request.get("spec") or {}).get("target") or {}
    return str(target.get("flavour")), str(target.get("name"))
