"""Controllers that stand beside the installations: the auditor, and the issuer that is published."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, NamedTuple

from vestibule.adapters.cluster.client import Client
from vestibule.adapters.observe.auditing import Auditing, Publishing
from vestibule.adapters.observe.reconciling import Reconciling
from vestibule.apps.operator.auditor import reconciler as audits
from vestibule.apps.operator.issuer import reconciler as issuers
from vestibule.apps.operator.runtime.controller import Controller
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Pen
from vestibule.apps.operator.runtime.watches import Watch, Watches
from vestibule.apps.operator.runtime.workqueue import Queue
from vestibule.core.kinds import gvk

Object = dict[str, Any]


class Numbers:
    """Their metrics, shown beside the operator's own for as long as the process lives."""

    def __init__(self, shown: Reconciling) -> None:
        self.audits, self.issuers = Auditing(), Publishing()
        for one in (self.audits, self.issuers):
            shown.beside(one)


class Parts(NamedTuple):
    """What they work with."""

    client: Client
    pen: Pen
    events: Events
    metrics: Reconciling
    numbers: Numbers
    namespace: str
    ours: Callable[[str], bool]
    """Whether this operator looks after an installation of that name."""
    leading: Callable[[], bool]
    now: Callable[[], datetime.datetime]
    resync: float
    issuer_hosts: tuple[str, ...] = ()
    """Other hosts than Azure's to which the issuer's login may be sent."""


def _name(obj: Object) -> tuple[str]:
    return (str(obj["metadata"]["name"]),)


def auditor(parts: Parts) -> tuple[Controller[str], Watches[str]]:
    """Looks after the pods of every installation."""
    queue: Queue[str] = Queue(workers=1)

    def add(name: str) -> None:
        if parts.ours(name):
            queue.add(name)

    given = audits.Parts(
        parts.client, parts.pen, parts.events, parts.namespace, parts.numbers.audits, parts.now
    )
    controller = Controller(
        "audits",
        audits.Reconciler(given),
        queue,
        parts.metrics,
        timeout=audits.TIMEOUT_SECONDS,
        resync=parts.resync,
    )
    return controller, Watches(parts.client, [Watch(gvk.VESTIBULE_WEBHOOK, _name)], add)


def issuer(parts: Parts) -> tuple[Controller[str], Watches[str]]:
    """Keeps issuers published."""
    queue: Queue[str] = Queue(workers=2)

    def shown(name: str, told: list[Object]) -> None:
        parts.metrics.show(gvk.PUBLISHED_ISSUER.kind, name, told)

    given = issuers.Parts(
        parts.client,
        parts.pen,
        parts.events,
        parts.numbers.issuers,
        shown,
        parts.leading,
        parts.now,
        parts.issuer_hosts,
    )
    controller = Controller(
        "issuers",
        issuers.Reconciler(given),
        queue,
        parts.metrics,
        timeout=issuers.TIMEOUT_SECONDS,
        resync=parts.resync,
    )
    watch = Watch(gvk.PUBLISHED_ISSUER, _name, optional=True)
    return controller, Watches(parts.client, [watch], queue.add)
