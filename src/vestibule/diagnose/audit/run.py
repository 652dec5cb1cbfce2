"""Pods that should have been served and were not, listed one by one; and evicted, where that is wanted.

The same census as the operator's auditor takes, with the settings of the webhook that is in the cluster.
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
from vestibule.diagnose.doctor.options import Tell
from vestibule.injection.policy import Policy
from vestibule.kube import client as clients
from vestibule.kube import lister
from vestibule.kube.access import ClusterAccess
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import ApiResponse, Client
from vestibule.manifests import sandbox_webhooks

Object = dict[str, Any]


class AuditOptions(NamedTuple):
    """What is asked."""

    access: ClusterAccess
    namespace: str = ""
    configuration: str = ""
    """The webhook configuration that calls us; empty: ours by name."""
    settings: Settings | None = None
    """None: those of the installation in the cluster."""


class AuditReport(NamedTuple):
    """What was found."""

    about: str
    """The registration, as people say it."""
    tally: PodCounts
    entries: tuple[PodEntry, ...]
    notes: tuple[str, ...]
    """What may make it incomplete."""
    standard: AuditBaseline


class AuditBaseline(NamedTuple):
    """What pods are held against."""

    policy: Policy
    registration: WebhookEntry | None
    sandboxes: tuple[WebhookEntry, ...]
    outages: tuple[Outage, ...]

    def census(self, client: Client, now: datetime.datetime, tell: Tell = lambda _: None) -> PodScan:
        """A census by it."""
        return PodScan(
            client,
            self.policy,
            self.registration,
            now,
            tell,
            sandboxes=self.sandboxes,
            outages=self.outages,
        )


def look(question: AuditOptions, over: Mapping[str, Any], tell: Tell) -> AuditReport:
    """Go through the pods. Raises Forbidden, Unavailable, InvalidSettings."""
    return asyncio.run(_look(question, over, tell))


async def _look(question: AuditOptions, over: Mapping[str, Any], tell: Tell) -> AuditReport:
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
        policy, told = await installed.policy(client, settings, sandboxes=True)
        notes += [f"{one.about}: {one.found}" for one in told]
        beside = tuple(found_in(seen.configurations, "", sandbox_webhooks.name(settings)))
        standard = AuditBaseline(policy, first, beside, await _outages(client, first))
        census = standard.census(client, datetime.datetime.now(datetime.UTC), tell)
        tally = await census.take(question.namespace)
        about = first.about if first else "no registration"
        return AuditReport(about, tally, tuple(census.entries), (*notes, *tally.unread), standard)
    finally:
        await client.close()


async def _outages(client: Client, first: WebhookEntry | None) -> tuple[Outage, ...]:
    """When the webhook was away, where an operator wrote it down."""
    if first is None:
        return ()
    try:
        found = await lister.one(client, gvk.VESTIBULE_WEBHOOK, "", first.configuration)
    except (errors.Forbidden, errors.Unavailable):
        return ()
    return downtime.parse(((found or {}).get("status") or {}).get("outages"))


class EvictionOptions(NamedTuple):
    """How pods are mended."""

    per_minute: int = 30
    jobs: bool = False
    dry_run: bool = False


def fix(
    question: AuditOptions,
    report: AuditReport,
    wish: EvictionOptions,
    tell: Callable[[EvictionOutcome], None],
) -> str:
    """Evict what can be made anew, one after the other; why it ended early, or nothing. What cannot go now
    because of a budget is left. Raises Forbidden, Unavailable."""
    return asyncio.run(_fix(question, report, wish, tell))


async def _fix(
    question: AuditOptions,
    report: AuditReport,
    wish: EvictionOptions,
    tell: Callable[[EvictionOutcome], None],
) -> str:
    client = Client(question.access)

    async def send(call: ApiRequest, what: str) -> ApiResponse:
        answer = await client.send(call)
        if answer.status not in (200, 201, 404, 409, 429):
            clients.raise_for(answer, what)
        return answer

    async def judge(some: Sequence[Object]) -> frozenset[str]:
        census = report.standard.census(client, datetime.datetime.now(datetime.UTC))
        await census.over(some)
        return frozenset(one.uid for one in census.entries if one.missed)

    clock = asyncio.get_running_loop().time
    evictions = Evictions(client, send, judge, per_minute=wish.per_minute, clock=clock, dry_run=wish.dry_run)
    evictions.offer(report.entries, jobs=wish.jobs)
    try:
        async for outcome in _steps(evictions):
            tell(outcome)
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
