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

from vestibule import errors
from vestibule.adapters.cluster import pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.guests import Guests
from vestibule.apps.operator.hosted import (
    attachments,
    flavours,
    kindtable,
    plan,
    proof,
    removal,
    status,
    surroundings,
    trial,
    webhooks,
)
from vestibule.apps.operator.hosted.attachments import Seen
from vestibule.apps.operator.hosted.certificates import text_of
from vestibule.apps.operator.hosted.listening import Listening
from vestibule.apps.operator.hosted.placing import Around, Placing
from vestibule.apps.operator.hosted.plan import Plan, Request
from vestibule.apps.operator.hosted.surroundings import Surroundings
from vestibule.apps.operator.hosted.target import Target
from vestibule.apps.operator.hosted.trial import Trials
from vestibule.apps.operator.hosted.trust import Standing
from vestibule.apps.operator.runtime import difference, finalizers, leniency, roundtrip, statuses
from vestibule.apps.operator.runtime.apply import Applier
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Deposed, Fence, Pen
from vestibule.apps.operator.runtime.result import Again, Done, Result, Stalled
from vestibule.apps.operator.runtime.roundtrip import Replica
from vestibule.core.kinds import conditions, hosted, text
from vestibule.core.kinds.conditions import Condition
from vestibule.core.kinds.hosted import FINALIZER, HOSTED_WEBHOOK, Hosted
from vestibule.core.native import kinds
from vestibule.core.pki import keeping

Object = dict[str, Any]
_SOON: Final = 1.0
_LATER: Final = 15.0
_LATEST: Final = 30.0
"""Longest pause while replicas are waited for; when they become ready a watch tells."""
SETTLE_SECONDS: Final = 10.0
"""From the moment we see that a guest trusts a new authority to its first leaf; an API server needs about a
second, and several may not be told at the same time."""


class Parts(NamedTuple):
    """What a reconciler works with."""

    client: Client
    pen: Pen
    applier: Applier
    events: Events
    guests: Guests
    fence: Fence
    image: str
    now: Callable[[], datetime.datetime]
    namespace: str = ""
    """Where the operator is; empty: in no pod."""
    told: Callable[[str, list[Object]], None] = lambda key, shown: None
    """Who shows conditions as metrics."""
    listening: Listening | None = None
    """Who hears of changes in guests."""
    settle: float = SETTLE_SECONDS


class Reconciler:
    """Keeps every HostedWebhook of one management cluster; keys are ``namespace/name``."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._around = Surroundings(parts.client, parts.guests, parts.pen, parts.fence)
        self._placing = Placing(parts.pen, parts.applier, parts.now, parts.guests.guard)
        self._trials = Trials()
        self._published: dict[str, tuple[list[str], float]] = {}

    async def __call__(self, key: str) -> Result:
        """One look at one object."""
        parts = self._parts
        namespace, _, name = key.partition("/")
        found = await pages.one(parts.client, HOSTED_WEBHOOK, namespace, name)
        if found is None:
            await self._around.forget(key)
            self._trials.forget(key)
            self._published.pop(key, None)
            parts.told(key, [])
            return Done(forget=True)
        try:
            spec = hosted.parse(found)
        except errors.InvalidInput as error:
            return await self._report(found, status.invalid(str(error)), Stalled("InvalidSpec", str(error)))
        try:
            return await self._judge(key, found, spec)
        except errors.Foreign as error:
            told = status.faulty("Foreign", str(error))
            return await self._report(found, told, Stalled("Foreign", str(error)))
        except (Deposed, errors.Conflict):
            raise  # somebody leads in our place, or wrote in between
        except errors.VestibuleError as error:
            await self._report(found, status.faulty("Fault", str(error)), Again(_LATER, "Fault"))
            raise

    async def _judge(self, key: str, found: Object, spec: Hosted) -> Result:
        parts, namespace = self._parts, str(found["metadata"]["namespace"])
        there = await self._around.control_plane(spec, namespace)
        target = flavours.ALL[spec.target.flavour].target(there[0], there[1:], parts.now()) if there else None
        if finalizers.deleting(found):
            return await self._remove(key, found, spec, target, there[1:])
        if target is None:
            kind = kindtable.CONTROL_PLANES[spec.target.flavour].kind
            told = status.missing(f"{kind} {namespace}/{spec.target.name} does not exist")
            return await self._report(found, told, Again(_LATER, "NotFound"))
        if spec.paused or target.pause.paused:
            told = status.paused(f"{target} or the request is paused")
            return await self._report(found, told, Again(target.pause.seconds or _LATER, "Paused"))
        found = await finalizers.hold(parts.pen, HOSTED_WEBHOOK, found, FINALIZER)
        return await self._look(key, found, spec, target, there[1:])

    async def _look(
        self, key: str, found: Object, spec: Hosted, target: Target, holders: list[Object]
    ) -> Result:
        parts, owner = self._parts, removal.owner(found)
        known = await parts.applier.owned(removal.management(target.namespace), owner)
        own = [one for (kind, _, _), one in known.items() if kind is kinds.SECRET]
        beside = [*await self._around.beside(spec, target), *holders, *own]
        try:
            guest = await self._around.guest(key, spec, target, beside)
            registered = await pages.every(guest.client, kinds.MUTATING)
        except (errors.Unavailable, errors.Forbidden, surroundings.NoKubeconfig) as error:
            return await self._report(
                found, status.unreachable(str(error)), Again(_LATER, "GuestUnreachable")
            )
        except errors.InvalidInput as error:
            # nothing is called with it; a resync looks at the Secret again
            told = status.kubeconfig_refused(str(error))
            return await self._report(found, told, Again(_LATER, status.KUBECONFIG_REFUSED))
        if parts.listening is not None:
            parts.listening.begin(key, guest.client, owner)
        seen = Seen(
            surroundings.containers(target, beside), [str(one["metadata"]["name"]) for one in registered]
        )
        choice = attachments.choose(spec.attach, target, seen)
        places = await proof.places(parts.client, target, spec.url) if choice.way == "deployment" else []
        ours = [one for one in registered if difference.ours(one, owner, surroundings.MANAGER)]
        standing = await self._standing(key, spec, target, beside, ours, places)
        if choice.way != "deployment":
            standing = standing._replace(endpoints=None)
        made = plan.plan(_request(spec, parts), target, seen._replace(trust=standing), beside, parts.now())
        if made.choice.way in (None, "builtin"):
            message = str(made.choice.conditions[0]["message"])
            result: Result = Done() if made.choice.way else Stalled("Refused", message)
            if made.choice.way and made.choice.conditions[0]["reason"] == attachments.PROVIDED:
                # the control plane's own serves the guest: two would run
                near = parts.applier
                if not await removal.withdraw(guest.applier, near, target.namespace, owner):
                    result = Again(removal.HEARD, "Unregistered")
            return await self._report(found, status.refused(made.choice, made.notes), result)
        inside = await removal.found(guest.applier, owner, ours, whole=made.choice.way == "in-guest")
        around = Around(target, beside, known, inside)
        others = [one for one in registered if one not in ours]
        called = made.choice.way == "deployment"
        settled = called or self._trials.settled(key, spec.program, ours, others)
        unproven, held = await self._placing.apply(owner, around, guest, made, places, tried=settled)
        tried = trial.NOT_ASKED
        if not called:
            tried = await self._trials.outcome(key, guest.client, spec.program, ours, others)
            unproven = tried.message if tried.status == "False" else ""
        if unproven and held:
            unproven = f"{unproven}; {leniency.WAITS}"
        told = status.attached(made.choice, made.notes, unproven, made.step, tried)
        return await self._report(found, told, self._next(found, made, unproven, held=held))

    def _next(self, found: Object, made: Plan, unproven: str, *, held: bool) -> Result:
        """When to look again."""
        if unproven:
            before = conditions.find((found.get("status") or {}).get("conditions"), "Verified")
            waited = conditions.since(before, self._parts.now()) if before else 0.0
            return Again(min(max(waited / 4, _SOON), _LATEST), "NotProven")
        if held:
            return Again(_SOON, "Proven")
        if made.step != "none" and made.choice.way == "deployment":
            return Again(_SOON, "Rotating")
        return Done()

    async def _standing(
        self,
        key: str,
        spec: Hosted,
        target: Target,
        beside: list[Object],
        ours: list[Object],
        places: list[Replica],
    ) -> Standing:
        """What the guest trusts, for how long we have seen it, and who serves with the present authority."""
        parts, published = self._parts, keeping.trusted(ours)
        clock = time.monotonic()
        known = self._published.get(key)
        if known is None or known[0] != published:
            known = self._published[key] = (published, clock)
        ca = next((one for one in beside if one["metadata"]["name"] == target.secret("ca")), {})
        current = text_of(ca, "ca.crt")
        serving: dict[str, bool] = {}
        if places and current in published and len(published) > 1:
            path = webhooks.PROGRAMS[spec.program].path
            told = await roundtrip.answers(places, path, [current], parts.guests.guard)
            serving = {str(place): not wrong for place, wrong in told.items()}
        return Standing(published, serving, settled=clock - known[1] >= parts.settle)

    async def _remove(
        self, key: str, found: Object, spec: Hosted, target: Target | None, holders: list[Object]
    ) -> Result:
        parts, applier = self._parts, None
        if target is not None and not target.deleting:
            try:
                guest = await self._around.guest(key, spec, target, await self._around.beside(spec, target))
                await pages.every(guest.client, kinds.MUTATING)
                applier = guest.applier
            except (errors.Unavailable, errors.Forbidden, errors.InvalidInput):
                applier = None
        steps = removal.Removal(parts.pen, parts.applier, parts.events, parts.now)
        limit = datetime.timedelta(seconds=text.duration(spec.abandon_after) or 0)
        return await steps.run(found, target, holders, applier, limit)

    async def _report(self, found: Object, told: list[Condition], result: Result) -> Result:
        """Write the status, once and only if it changed."""
        parts, meta = self._parts, found["metadata"]
        now, generation = parts.now(), int(meta.get("generation") or 0)
        before = (found.get("status") or {}).get("conditions")
        after = conditions.merged(before, told, now=now, generation=generation)
        fields = {"observedGeneration": generation, "conditions": after}
        await statuses.write(parts.pen, HOSTED_WEBHOOK, found, fields)
        parts.told(f"{meta['namespace']}/{meta['name']}", after)
        for one in conditions.changed(before, after, *status.TOLD):
            good = one["status"] == "True"
            if good and not before:
                continue  # a good beginning is no news
            note = f"{one['type']} is {one['status']}: {one['message']}"
            await parts.events.tell(found, one["reason"], note, "Reconcile", "Normal" if good else "Warning")
        return result


def _request(spec: Hosted, parts: Parts) -> Request:
    return Request(
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
