"""Controllers that stand beside the installations: the auditor, and the issuer that is published."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, NamedTuple

from vestibule.api import gvk
from vestibule.kube.client import Client
from vestibule.operator.controller import Controller
from vestibule.operator.controllers.audit import reconciler as audits
from vestibule.operator.controllers.issuer import reconciler as issuers
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import FencedClient
from vestibule.operator.watches import Watch, Watches
from vestibule.operator.workqueue import Queue
from vestibule.telemetry.audit_metrics import AuditMetrics, IssuerMetrics
from vestibule.telemetry.operator_metrics import OperatorMetrics

Object = dict[str, Any]


class SideControllerMetrics:
    """Their metrics, shown beside the operator's own for as long as the process lives."""

    def __init__(self, shown: OperatorMetrics) -> None:
        self.audits, self.issuers = AuditMetrics(), IssuerMetrics()
        for one in (self.audits, self.issuers):
            shown.include(one)


class SideControllerDeps(NamedTuple):
    """What they work with."""

    client: Client
    writer: FencedClient
    events: Events
    metrics: OperatorMetrics
    numbers: SideControllerMetrics
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


def auditor(parts: SideControllerDeps) -> tuple[Controller[str], Watches[str]]:
    """Looks after the pods of every installation."""
    queue: Queue[str] = Queue(workers=1)

    def add(name: str) -> None:
        if parts.ours(name):
            queue.add(name)

    given = audits.AuditReconcilerDeps(
        parts.client, parts.writer, parts.events, parts.namespace, parts.numbers.audits, parts.now
    )
    controller = Controller(
        "audits",
        audits.AuditReconciler(given),
        queue,
        parts.metrics,
        timeout=audits.TIMEOUT_SECONDS,
        resync=parts.resync,
    )
    return controller, Watches(parts.client, [Watch(gvk.VESTIBULE_WEBHOOK, _name)], add)


def issuer(parts: SideControllerDeps) -> tuple[Controller[str], Watches[str]]:
    """Keeps issuers published."""
    queue: Queue[str] = Queue(workers=2)

    def shown(name: str, told: list[Object]) -> None:
        parts.metrics.show(gvk.PUBLISHED_ISSUER.kind, name, told)

    given = issuers.IssuerReconcilerDeps(
        parts.client,
        parts.writer,
        parts.events,
        parts.numbers.issuers,
        shown,
        parts.leading,
        parts.now,
        parts.issuer_hosts,
    )
    controller = Controller(
        "issuers",
        issuers.IssuerReconciler(given),
        queue,
        parts.metrics,
        timeout=issuers.TIMEOUT_SECONDS,
        resync=parts.resync,
    )
    watch = Watch(gvk.PUBLISHED_ISSUER, _name, optional=True)
    return controller, Watches(parts.client, [watch], queue.add)
