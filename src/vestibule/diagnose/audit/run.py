"""Lists the pods that lack the requested identity, and evicts them on request.

The same pod scan as in the operator, with the settings of the webhook in the cluster.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from vestibule import errors
from vestibule.api import downtime, gvk
from vestibule.api.downtime import Outage
from vestibule.api.settings import schema
from vestibule.api.settings.schema import Settings
from vestibule.checks.pod_report import PodCounts, PodEntry
from vestibule.checks.webhook_configuration import WebhookEntry
from vestibule.checks.webhook_configuration import find as found_in
from vestibule.diagnose.audit.evictions import EvictionOutcome, Evictions
from vestibule.diagnose.audit.pod_scan import PodScan
from vestibule.diagnose.doctor import installed, webhook_configuration
from vestibule.diagnose.doctor.options import Progress
from vestibule.injection.policy import Policy
from vestibule.kube import client as clients
from vestibule.kube import lister
from vestibule.kube.access import ClusterAccess
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import ApiResponse, Client
from vestibule.manifests import sandbox_webhooks

Object = dict[str, Any]


class AuditOptions(NamedTuple):
    """The options of the command."""

    access: ClusterAccess
    namespace: str = ""
    configuration: str = ""
    """The webhook configuration that calls us; empty: ours by name."""
    settings: Settings | None = None
    """None: those of the installation in the cluster."""


class AuditReport(NamedTuple):
    """The result of one audit."""

    about: str
    """Kind and name of the webhook configuration."""
    tally: PodCounts
    entries: tuple[PodEntry, ...]
    notes: tuple[str, ...]
    """Why the report may be incomplete."""
    standard: AuditBaseline


class AuditBaseline(NamedTuple):
    """What pods are compared with."""

    policy: Policy
    webhook: WebhookEntry | None
    sandboxes: tuple[WebhookEntry, ...]
    outages: tuple[Outage, ...]

    def scan(self, client: Client, now: datetime.datetime, progress: Progress = lambda _: None) -> PodScan:
        return PodScan(
            client,
            self.policy,
            self.webhook,
            now,
            progress,
            sandboxes=self.sandboxes,
            outages=self.outages,
        )


def audit(question: AuditOptions, over: Mapping[str, Any], progress: Progress) -> AuditReport:
    """Scan the pods. Raises Forbidden, Unavailable, InvalidSettings."""
    return asyncio.run(_audit(question, over, progress))


async def _audit(question: AuditOptions, over: Mapping[str, Any], progress: Progress) -> AuditReport:
    client = Client(question.access)
    try:
        usual = question.settings or schema.parse(over, "settings")
        seen = await webhook_configuration.find(client, usual.install.name, question.configuration)
        first = seen.found[0] if seen.found else None
        notes = [f"{one.about}: {one.found}" for one in seen.checks]
        settings = question.settings
        if settings is None:
            given = await installed.settings(client, first, over)
            settings = given.settings
            if given.check.status != "ok":
                notes.append(f"{given.check.about}: {given.check.found}")
        policy, checks = await installed.policy(client, settings, sandboxes=True)
        notes += [f"{one.about}: {one.found}" for one in checks]
        sandbox_webhooks_found = tuple(found_in(seen.configurations, "", sandbox_webhooks.name(settings)))
        standard = AuditBaseline(policy, first, sandbox_webhooks_found, await _outages(client, first))
        pod_scan = standard.scan(client, datetime.datetime.now(datetime.UTC), progress)
        tally = await pod_scan.take(question.namespace)
        about = first.about if first else "no webhook configuration"
        return AuditReport(about, tally, tuple(pod_scan.entries), (*notes, *tally.unread), standard)
    finally:
        await client.close()


async def _outages(client: Client, first: WebhookEntry | None) -> tuple[Outage, ...]:
    """The outages of the webhook that the operator recorded."""
    if first is None:
        return ()
    try:
        found = await lister.one(client, gvk.VESTIBULE_WEBHOOK, "", first.configuration)
    except (errors.Forbidden, errors.Unavailable):
        return ()
    return downtime.parse(((found or {}).get("status") or {}).get("outages"))


class EvictionOptions(NamedTuple):
    """How pods are evicted."""

    per_minute: int = 30
    jobs: bool = False
    dry_run: bool = False


def fix(
    question: AuditOptions,
    report: AuditReport,
    wish: EvictionOptions,
    report_outcome: Callable[[EvictionOutcome], None],
) -> str:
    """Evict the eligible pods one after the other; returns why it ended early, or nothing. Pods that a
    disruption budget protects stay. Raises Forbidden, Unavailable."""
    return asyncio.run(_fix(question, report, wish, report_outcome))


async def _fix(
    question: AuditOptions,
    report: AuditReport,
    wish: EvictionOptions,
    report_outcome: Callable[[EvictionOutcome], None],
) -> str:
    client = Client(question.access)

    async def send(call: ApiRequest, what: str) -> ApiResponse:
        answer = await client.send(call)
        if answer.status not in (200, 201, 404, 409, 429):
            clients.raise_for(answer, what)
        return answer

    async def judge(some: Sequence[Object]) -> frozenset[str]:
        pod_scan = report.standard.scan(client, datetime.datetime.now(datetime.UTC))
        await pod_scan.over(some)
        return frozenset(one.uid for one in pod_scan.entries if one.missed)

    clock = asyncio.get_running_loop().time
    evictions = Evictions(client, send, judge, per_minute=wish.per_minute, clock=clock, dry_run=wish.dry_run)
    evictions.offer(report.entries, jobs=wish.jobs)
    try:
        async for outcome in _steps(evictions):
            report_outcome(outcome)
            if outcome.result in ("blocked", "failed"):
                evictions.pass_over(outcome.entry)
        return evictions.halted
    finally:
        await client.close()


async def _steps(evictions: Evictions) -> AsyncIterator[EvictionOutcome]:
    while evictions.left:
        for outcome in await evictions.step():
            yield outcome
        if evictions.left:
            await asyncio.sleep(evictions.rest())
