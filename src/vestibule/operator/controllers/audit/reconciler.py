"""One VestibuleWebhook, looked at for the pods it should have served: audit, tell, repair.

An audit reads every pod once, page by page, and keeps only sums. What it finds is a condition, metrics and a
few Events. Where repair is asked for, one eviction follows the other in looks of their own, and all of it
ends as soon as a replacement lacks the same again: that is kept in the status, so that nobody begins anew.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from vestibule import errors, gostrconv
from vestibule.api import conditions, gvk, vestibulewebhook
from vestibule.api.conditions import Condition, no, yes
from vestibule.api.vestibulewebhook import AuditSpec
from vestibule.diagnose.audit.evictions import EvictionOutcome, Evictions
from vestibule.diagnose.audit.summary import SERVED, AuditSummary
from vestibule.kube import lister
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import ApiResponse, Client
from vestibule.operator import finalizers, status_writer
from vestibule.operator.controllers.audit import inputs, pod_events
from vestibule.operator.controllers.audit.inputs import AuditInputs
from vestibule.operator.controllers.audit.schedule import AuditSchedule
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import FencedClient, LeadershipLost
from vestibule.operator.result import Reconciled, RequeueAfter, Result

Object = dict[str, Any]
WORKS: Final = "RepairWorks"
TIMEOUT_SECONDS: Final = 1800.0
"""An audit of a hundred thousand pods takes minutes."""
_FAULT: Final = 30.0
"""Seconds after a fault."""
_TRIES: Final = 3
"""Writes of a status against somebody who writes, too."""


class AuditMetricsSink(Protocol):
    """Who counts."""

    def audited(self, name: str, seen: int, found: Any) -> None:
        """An audit ended."""
        ...

    def evicted(self, name: str, result: str) -> None:
        """What became of one pod."""
        ...

    def forget(self, name: str) -> None:
        """There is no such installation any more."""
        ...


class AuditReconcilerDeps(NamedTuple):
    """What a reconciler works with."""

    client: Client
    writer: FencedClient
    events: Events
    namespace: str
    numbers: AuditMetricsSink
    now: Callable[[], datetime.datetime]


class _InstallationState:
    """What is kept about one installation between two looks."""

    def __init__(self) -> None:
        self.due = AuditSchedule()
        self.evictions: Evictions | None = None
        self.asked: Any = None
        """What was asked for when the evictions began."""
        self.standard: AuditInputs | None = None
        self.told: dict[str, str] = {}
        """Workloads that were told, and what."""


class AuditReconciler:
    """Audits every installation of one cluster."""

    def __init__(self, parts: AuditReconcilerDeps) -> None:
        self._parts = parts
        self._kept: dict[str, _InstallationState] = {}

    async def __call__(self, name: str) -> Result:
        """One look at one object."""
        parts = self._parts
        obj = await lister.one(parts.client, gvk.VESTIBULE_WEBHOOK, "", name)
        if obj is None or finalizers.deleting(obj):
            return self._forget(name)
        try:
            spec = vestibulewebhook.parse(obj)
        except errors.InvalidInput:
            return Reconciled()  # told by who installs it
        if not spec.audit.enabled:
            await self._write(name, [], retired=(SERVED, WORKS))
            return self._forget(name)
        if spec.paused:
            return Reconciled()
        kept = self._kept.setdefault(name, _InstallationState())
        interval = gostrconv.duration(spec.audit.interval) or 0.0
        clock = asyncio.get_running_loop().time
        try:
            if kept.due.noted(obj, interval, clock()):
                await self._audit(name, obj, spec.audit, kept)
                kept.due.ended(interval, clock())
            rest = await self._repair(name, obj, spec.audit, kept)
        except LeadershipLost:
            raise
        except errors.VestibuleError as error:
            kept.due.ended(min(interval, _FAULT), clock())
            unknown = Condition(SERVED, "Unknown", "AuditFailed", str(error))
            await self._write(name, [unknown])
            return RequeueAfter(kept.due.left(clock()), "AuditFailed")
        left = kept.due.left(clock())
        return RequeueAfter(left if rest is None else min(left, rest), "Waiting")

    def _forget(self, name: str) -> Result:
        self._kept.pop(name, None)
        self._parts.numbers.forget(name)
        return Reconciled(forget=True)

    # ── audit ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _audit(self, name: str, obj: Object, asked: AuditSpec, kept: _InstallationState) -> None:
        parts = self._parts
        kept.standard = found = await inputs.standard(parts.client, obj, parts.namespace)
        if found is None:
            return  # nothing is installed: nobody could have been served
        summary = AuditSummary()
        tally = await found.census(parts.client, parts.now(), summary.add).take("")
        parts.numbers.audited(name, tally.seen, summary.counts)
        retired = (WORKS,) if asked.repair.mode == "Off" else ()
        await self._write(name, [summary.condition(tally)], retired=retired)
        await pod_events.missed(parts.client, parts.events, summary.hits, kept.told)
        begun = kept.evictions
        if begun is None or kept.asked != asked.repair or (begun.halted and not _halted(obj)):
            kept.evictions, kept.asked = self._evictions(name, asked, kept), asked.repair
        if kept.evictions is not None:
            kept.evictions.offer(summary.candidates, jobs=asked.repair.jobs)

    # ── repair ──────────────────────────────────────────────────────────────────────────────────────────────

    def _evictions(self, name: str, asked: AuditSpec, kept: _InstallationState) -> Evictions | None:
        parts = self._parts
        if asked.repair.mode == "Off":
            return None

        async def send(call: ApiRequest, what: str) -> ApiResponse:
            return await parts.writer.send(call, gvk.POD, what, 404, 409, 429)

        async def judge(some: Sequence[Object]) -> frozenset[str]:
            if kept.standard is None:
                return frozenset()
            census = kept.standard.census(parts.client, parts.now())
            await census.over(some)
            return frozenset(one.uid for one in census.entries if one.missed)

        dry_run = asked.repair.mode == "DryRun"
        return Evictions(
            parts.client,
            send,
            judge,
            per_minute=asked.repair.per_minute,
            clock=asyncio.get_running_loop().time,
            dry_run=dry_run,
        )

    async def _repair(
        self, name: str, obj: Object, asked: AuditSpec, kept: _InstallationState
    ) -> float | None:
        """One step; seconds until the next one, or None when there is nothing to mend."""
        evictions = kept.evictions
        if evictions is None or asked.repair != kept.asked or not evictions.left:
            return None
        if not _available(obj) or _halted(obj):
            return None
        try:
            outcomes = await evictions.step()
        except errors.Forbidden as error:
            advice = "render the operator with install.evictions: true"
            await self._write(name, [no(WORKS, "Forbidden", f"{error}; {advice}")])
            kept.evictions = None
            return None
        for one in outcomes:
            await self._told(name, one)
        if evictions.halted:
            await self._write(name, [no(WORKS, "ReplacementMissed", evictions.halted)])
        elif any(one.result in ("evicted", "replaced", "would-evict") for one in outcomes):
            reason = "DryRun" if asked.repair.mode == "DryRun" else "AsExpected"
            await self._write(name, [yes(WORKS, reason)])
        return evictions.rest() if evictions.left else None

    async def _told(self, name: str, one: EvictionOutcome) -> None:
        self._parts.numbers.evicted(name, one.result)
        await pod_events.outcome(self._parts.client, self._parts.events, one)

    # ── status ──────────────────────────────────────────────────────────────────────────────────────────────

    async def _write(self, name: str, told: list[Condition], retired: tuple[str, ...] = ()) -> None:
        """Lay conditions over the status as it is now: an audit takes long, and others write meanwhile."""
        parts = self._parts
        for attempt in range(_TRIES):
            obj = await lister.one(parts.client, gvk.VESTIBULE_WEBHOOK, "", name)
            if obj is None:
                return
            before = (obj.get("status") or {}).get("conditions")
            generation = int(obj["metadata"].get("generation") or 0)
            after = conditions.merged(before, told, now=parts.now(), generation=generation, retired=retired)
            try:
                await status_writer.write(parts.writer, gvk.VESTIBULE_WEBHOOK, obj, {"conditions": after})
            except errors.Conflict:
                if attempt == _TRIES - 1:
                    raise
                continue
            for one in conditions.changed(before, after, SERVED, WORKS):
                if one["status"] == "False":
                    await parts.events.tell(obj, one["reason"], one["message"], "Audit", "Warning")
            return


def _available(obj: Object) -> bool:
    found = conditions.find((obj.get("status") or {}).get("conditions"), "Available") or {}
    return found.get("status") == "True"


def _halted(obj: Object) -> bool:
    """Whether repair has ended because it did not help, and nothing has changed since: neither the object
    nor whether the webhook is there."""
    told = (obj.get("status") or {}).get("conditions")
    works, available = conditions.find(told, WORKS) or {}, conditions.find(told, "Available") or {}
    return (
        works.get("status") == "False"
        and works.get("reason") == "ReplacementMissed"
        and works.get("observedGeneration") == obj["metadata"].get("generation")
        and str(available.get("lastTransitionTime")) <= str(works.get("lastTransitionTime"))
    )
