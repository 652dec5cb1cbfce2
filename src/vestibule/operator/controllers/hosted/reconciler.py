"""One HostedWebhook: read both clusters, plan, apply to both, status.

Rights in the guest come first, then the webhook's credential, then the management side; then a review goes
round through the very bundle that the guest will trust, and only then the registration is made. A guest that
does not answer costs its own key a pause and nobody else anything. What is good is kept, so a look at which
nothing changed writes nothing.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from vestibule import errors, gostrconv
from vestibule.api import conditions, hostedwebhook
from vestibule.api.conditions import Condition
from vestibule.api.hostedwebhook import FINALIZER, HOSTED_WEBHOOK, HostedWebhookSpec
from vestibule.kube import lister
from vestibule.kube.client import Client
from vestibule.kube.client_pool import ClientPool
from vestibule.manifests import kinds
from vestibule.operator import drift, failure_policy, finalizers, status_writer, webhook_probe
from vestibule.operator.apply import Applier
from vestibule.operator.controllers.hosted import (
    attach_modes,
    desired,
    dryrun_probe,
    finalize,
    hosted_kinds,
    hypershift_webhooks,
    platform_table,
    reader,
    replicas,
    status,
)
from vestibule.operator.controllers.hosted.apply import ExistingObjects, HostedApplier
from vestibule.operator.controllers.hosted.attach_modes import AttachObservation
from vestibule.operator.controllers.hosted.ca_rollover import TrustState
from vestibule.operator.controllers.hosted.certificates import text_of
from vestibule.operator.controllers.hosted.control_plane import ControlPlane
from vestibule.operator.controllers.hosted.desired import HostedDesired, HostedRequest
from vestibule.operator.controllers.hosted.dryrun_probe import DryRunProbes
from vestibule.operator.controllers.hosted.hosted_informers import HostedInformers
from vestibule.operator.controllers.hosted.reader import ControlPlaneReader
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import FencedClient, Leadership, LeadershipLost
from vestibule.operator.result import Reconciled, RequeueAfter, Result, Terminal
from vestibule.operator.webhook_probe import Replica
from vestibule.pki import tls_secret

Object = dict[str, Any]
_SOON: Final = 1.0
_LATER: Final = 15.0
_LATEST: Final = 30.0
"""Longest pause while replicas are waited for; when they become ready a watch tells."""
SETTLE_SECONDS: Final = 10.0
"""From the moment we see that a guest trusts a new authority to its first leaf; an API server needs about a
second, and several may not be told at the same time."""


class HostedReconcilerDeps(NamedTuple):
    """What a reconciler works with."""

    client: Client
    writer: FencedClient
    applier: Applier
    events: Events
    guests: ClientPool
    leadership: Leadership
    image: str
    now: Callable[[], datetime.datetime]
    namespace: str = ""
    """Where the operator is; empty: in no pod."""
    told: Callable[[str, list[Object]], None] = lambda key, shown: None
    """Who shows conditions as metrics."""
    listening: HostedInformers | None = None
    """Who hears of changes in guests."""
    settle: float = SETTLE_SECONDS


class HostedReconciler:
    """Keeps every HostedWebhook of one management cluster; keys are ``namespace/name``."""

    def __init__(self, parts: HostedReconcilerDeps) -> None:
        self._parts = parts
        self._around = ControlPlaneReader(parts.client, parts.guests, parts.writer, parts.leadership)
        self._placing = HostedApplier(parts.writer, parts.applier, parts.now, parts.guests.guard)
        self._trials = DryRunProbes()
        self._published: dict[str, tuple[list[str], float]] = {}

    async def __call__(self, key: str) -> Result:
        """One look at one object."""
        parts = self._parts
        namespace, _, name = key.partition("/")
        found = await lister.one(parts.client, HOSTED_WEBHOOK, namespace, name)
        if found is None:
            await self._around.forget(key)
            self._trials.forget(key)
            self._published.pop(key, None)
            parts.told(key, [])
            return Reconciled(forget=True)
        try:
            spec = hostedwebhook.parse(found)
        except errors.InvalidInput as error:
            return await self._report(found, status.invalid(str(error)), Terminal("InvalidSpec", str(error)))
        try:
            return await self._judge(key, found, spec)
        except errors.ForeignObject as error:
            told = status.faulty("Foreign", str(error))
            return await self._report(found, told, Terminal("Foreign", str(error)))
        except (LeadershipLost, errors.Conflict):
            raise  # somebody leads in our place, or wrote in between
        except errors.VestibuleError as error:
            await self._report(found, status.faulty("Fault", str(error)), RequeueAfter(_LATER, "Fault"))
            raise

    async def _judge(self, key: str, found: Object, spec: HostedWebhookSpec) -> Result:
        parts, namespace = self._parts, str(found["metadata"]["namespace"])
        there = await self._around.control_plane(spec, namespace)
        target = (
            platform_table.ALL[spec.target.flavour].target(there[0], there[1:], parts.now())
            if there
            else None
        )
        if finalizers.deleting(found):
            return await self._remove(key, found, spec, target, there[1:])
        if target is None:
            kind = hosted_kinds.CONTROL_PLANES[spec.target.flavour].kind
            told = status.missing(f"{kind} {namespace}/{spec.target.name} does not exist")
            return await self._report(found, told, RequeueAfter(_LATER, "NotFound"))
        if spec.paused or target.pause.paused:
            told = status.paused(f"{target} or the request is paused")
            return await self._report(found, told, RequeueAfter(target.pause.seconds or _LATER, "Paused"))
        found = await finalizers.hold(parts.writer, HOSTED_WEBHOOK, found, FINALIZER)
        return await self._look(key, found, spec, target, there[1:])

    async def _look(
        self, key: str, found: Object, spec: HostedWebhookSpec, target: ControlPlane, holders: list[Object]
    ) -> Result:
        parts, owner = self._parts, finalize.owner(found)
        known = await parts.applier.owned(finalize.management(target.namespace), owner)
        own = [one for (kind, _, _), one in known.items() if kind is kinds.SECRET]
        beside = [*await self._around.beside(spec, target), *holders, *own]
        try:
            guest = await self._around.guest(key, spec, target, beside)
            registered = await lister.every(guest.client, kinds.MUTATING)
        except (errors.Unavailable, errors.Forbidden, reader.NoKubeconfig) as error:
            return await self._report(
                found, status.unreachable(str(error)), RequeueAfter(_LATER, "GuestUnreachable")
            )
        except errors.InvalidInput as error:
            # nothing is called with it; a resync looks at the Secret again
            told = status.kubeconfig_refused(str(error))
            return await self._report(found, told, RequeueAfter(_LATER, status.KUBECONFIG_REFUSED))
        if parts.listening is not None:
            parts.listening.begin(key, guest.client, owner)
        seen = AttachObservation(
            reader.containers(target, beside), [str(one["metadata"]["name"]) for one in registered]
        )
        choice = attach_modes.choose(spec.attach, target, seen)
        places = await replicas.places(parts.client, target, spec.url) if choice.way == "deployment" else []
        ours = [one for one in registered if drift.ours(one, owner, reader.MANAGER)]
        standing = await self._standing(key, spec, target, beside, ours, places)
        if choice.way != "deployment":
            standing = standing._replace(endpoints=None)
        made = desired.plan(_request(spec, parts), target, seen._replace(trust=standing), beside, parts.now())
        if made.choice.way in (None, "builtin"):
            message = str(made.choice.conditions[0]["message"])
            result: Result = Reconciled() if made.choice.way else Terminal("Refused", message)
            if made.choice.way and made.choice.conditions[0]["reason"] == attach_modes.PROVIDED:
                # the control plane's own serves the guest: two would run
                near = parts.applier
                if not await finalize.withdraw(guest.applier, near, target.namespace, owner):
                    result = RequeueAfter(finalize.HEARD, "Unregistered")
            return await self._report(found, status.refused(made.choice, made.notes), result)
        inside = await finalize.found(guest.applier, owner, ours, whole=made.choice.way == "in-guest")
        around = ExistingObjects(target, beside, known, inside)
        others = [one for one in registered if one not in ours]
        called = made.choice.way == "deployment"
        settled = called or self._trials.settled(key, spec.program, ours, others)
        unproven, held = await self._placing.apply(owner, around, guest, made, places, tried=settled)
        tried = dryrun_probe.NOT_ASKED
        if not called:
            tried = await self._trials.outcome(key, guest.client, spec.program, ours, others)
            unproven = tried.message if tried.status == "False" else ""
        if unproven and held:
            unproven = f"{unproven}; {failure_policy.WAITS}"
        told = status.attached(made.choice, made.notes, unproven, made.step, tried)
        return await self._report(found, told, self._next(found, made, unproven, held=held))

    def _next(self, found: Object, made: HostedDesired, unproven: str, *, held: bool) -> Result:
        """When to look again."""
        if unproven:
            before = conditions.find((found.get("status") or {}).get("conditions"), "Verified")
            waited = conditions.since(before, self._parts.now()) if before else 0.0
            return RequeueAfter(min(max(waited / 4, _SOON), _LATEST), "NotProven")
        if held:
            return RequeueAfter(_SOON, "Proven")
        if made.step != "none" and made.choice.way == "deployment":
            return RequeueAfter(_SOON, "Rotating")
        return Reconciled()

    async def _standing(
        self,
        key: str,
        spec: HostedWebhookSpec,
        target: ControlPlane,
        beside: list[Object],
        ours: list[Object],
        places: list[Replica],
    ) -> TrustState:
        """What the guest trusts, for how long we have seen it, and who serves with the present authority."""
        parts, published = self._parts, tls_secret.trusted(ours)
        clock = time.monotonic()
        known = self._published.get(key)
        if known is None or known[0] != published:
            known = self._published[key] = (published, clock)
        ca = next((one for one in beside if one["metadata"]["name"] == target.secret("ca")), {})
        current = text_of(ca, "ca.crt")
        serving: dict[str, bool] = {}
        if places and current in published and len(published) > 1:
            path = hypershift_webhooks.PROGRAMS[spec.program].path
            told = await webhook_probe.problems(places, path, [current], parts.guests.guard)
            serving = {str(place): not wrong for place, wrong in told.items()}
        return TrustState(published, serving, settled=clock - known[1] >= parts.settle)

    async def _remove(
        self,
        key: str,
        found: Object,
        spec: HostedWebhookSpec,
        target: ControlPlane | None,
        holders: list[Object],
    ) -> Result:
        parts, applier = self._parts, None
        if target is not None and not target.deleting:
            try:
                guest = await self._around.guest(key, spec, target, await self._around.beside(spec, target))
                await lister.every(guest.client, kinds.MUTATING)
                applier = guest.applier
            except (errors.Unavailable, errors.Forbidden, errors.InvalidInput):
                applier = None
        steps = finalize.HostedFinalizer(parts.writer, parts.applier, parts.events, parts.now)
        limit = datetime.timedelta(seconds=gostrconv.duration(spec.abandon_after) or 0)
        return await steps.run(found, target, holders, applier, limit)

    async def _report(self, found: Object, told: list[Condition], result: Result) -> Result:
        """Write the status, once and only if it changed."""
        parts, meta = self._parts, found["metadata"]
        now, generation = parts.now(), int(meta.get("generation") or 0)
        before = (found.get("status") or {}).get("conditions")
        after = conditions.merged(before, told, now=now, generation=generation, ready=status.READY)
        fields = {"observedGeneration": generation, "conditions": after}
        await status_writer.write(parts.writer, HOSTED_WEBHOOK, found, fields)
        parts.told(f"{meta['namespace']}/{meta['name']}", after)
        for one in conditions.changed(before, after, *status.TOLD):
            good = one["status"] == "True"
            if good and not before:
                continue  # a good beginning is no news
            note = f"{one['type']} is {one['status']}: {one['message']}"
            await parts.events.tell(found, one["reason"], note, "Reconcile", "Normal" if good else "Warning")
        return result


def _request(spec: HostedWebhookSpec, parts: HostedReconcilerDeps) -> HostedRequest:
    return HostedRequest(
        spec.program,
        spec.attach,
        spec.tenant_id,
        spec.environment,
        spec.region,
        spec.image or parts.image,
        spec.failure_policy,
        spec.replicas,
        spec.url,
        spec.server,
        spec.credential,
        parts.namespace,
    )
