"""One HostedWebhook: read both clusters, plan, apply to both, status.

The management side and the guest's rights come first, then a review goes round through the very bundle that
the guest will trust, and only then the registration is made. A guest that does not answer costs its own key a
pause and nobody else anything. What is good is kept, so a look at which nothing changed writes nothing.
"""

from __future__ import annotations

import contextlib
import datetime
import uuid
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from vestibule import errors
from vestibule.adapters.cluster import calls, pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.guests import Guests
from vestibule.adapters.web.post import post
from vestibule.apps.operator.hosted import flavours, identity, kindtable, plan, removal
from vestibule.apps.operator.hosted.attachments import Seen
from vestibule.apps.operator.hosted.certificates import text_of
from vestibule.apps.operator.hosted.plan import Plan, Request
from vestibule.apps.operator.hosted.target import Target
from vestibule.apps.operator.runtime import finalizers, statuses
from vestibule.apps.operator.runtime.apply import Applier, Place, Wanted
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Fence, Pen
from vestibule.apps.operator.runtime.result import Again, Done, Result, Stalled
from vestibule.core.admission import canned
from vestibule.core.kinds import conditions, gvk, hosted
from vestibule.core.kinds.conditions import Condition, no, yes
from vestibule.core.kinds.hosted import FINALIZER, HOSTED_WEBHOOK, Hosted
from vestibule.core.native import kinds
from vestibule.core.pki import authority

Object = dict[str, Any]
MANAGER: Final = "vestibule-operator"
_SOON: Final = 2.0
_LATER: Final = 15.0


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


class Reconciler:
    """Keeps every HostedWebhook of one management cluster; keys are ``namespace/name``."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._appliers: dict[str, tuple[Client, Applier]] = {}

    async def __call__(self, key: str) -> Result:
        """One look at one object."""
        parts = self._parts
        namespace, _, name = key.partition("/")
        found = await pages.one(parts.client, HOSTED_WEBHOOK, namespace, name)
        if found is None:
            await parts.guests.forget(key)
            self._appliers.pop(key, None)
            return Done(forget=True)
        try:
            spec = hosted.parse(found)
        except errors.InvalidInput as error:
            return await self._report(
                found, [no("Resolved", "InvalidSpec", str(error))], Stalled("InvalidSpec", str(error))
            )
        if finalizers.deleting(found):
            return await self._remove(key, found, spec)
        kind = kindtable.CONTROL_PLANES[spec.target.flavour]
        thing = await pages.one(parts.client, kind, namespace, spec.target.name)
        if thing is None:
            told = no("Resolved", "NotFound", f"{kind.kind} {namespace}/{spec.target.name} does not exist")
            return await self._report(found, [told], Again(_LATER, "NotFound"))
        target = self._target(spec, thing)
        if spec.paused or target.pause.paused:
            told = Condition("Resolved", "Unknown", "Paused", f"{target} or the request is paused")
            return await self._report(found, [told], Again(target.pause.seconds or _LATER, "Paused"))
        found = await finalizers.hold(parts.pen, HOSTED_WEBHOOK, found, FINALIZER)
        try:
            return await self._look(key, found, spec, target)
        except errors.Foreign as error:
            told = no("Resolved", "Foreign", str(error))
            return await self._report(found, [told], Stalled("Foreign", str(error)))

    def _target(self, spec: Hosted, thing: Object) -> Target:
        """A typed target; lists of one kind leave out what the API server knows anyway."""
        kind = kindtable.CONTROL_PLANES[spec.target.flavour]
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **thing}
        return flavours.ALL[spec.target.flavour].target(whole, [], self._parts.now())

    async def _look(self, key: str, found: Object, spec: Hosted, target: Target) -> Result:
        parts, owner = self._parts, str(found["metadata"]["name"])
        beside = await self._beside(target)
        try:
            guest = await self._guest(key, spec, target, beside)
            registered = await pages.every(guest[0], kinds.MUTATING)
        except (errors.Unavailable, errors.Forbidden, errors.InvalidInput) as error:
            silence = no("GuestReachable", "NoAnswer", str(error))
            return await self._report(found, [silence], Again(_LATER, "GuestUnreachable"))
        seen = Seen(_containers(target, beside), [str(one["metadata"]["name"]) for one in registered])
        made = plan.plan(_request(spec, parts.image), target, seen, beside, parts.now())
        told = [yes("GuestReachable", "Answers"), *_resolved(made)]
        if made.choice.way in (None, "builtin"):
            result = (
                Done() if made.choice.way else Stalled("Refused", str(made.choice.conditions[0]["message"]))
            )
            return await self._report(found, told, result)
        known = await parts.applier.owned(removal.management(target.namespace), owner)
        wanted = [Wanted(kindtable.of(one), one) for one in made.management]
        for one in wanted:
            await parts.applier.apply(one, owner, known)
        if made.edit is not None and made.edit.changed:
            call = calls.replace(kindtable.of(made.edit.thing), made.edit.thing)
            await parts.pen.send(call, kindtable.of(made.edit.thing), f"attaching to {target}")
        unproven = await self._inside(guest[1], owner, made)
        await parts.applier.prune(known, wanted)
        told.append(no("Verified", "NotProven", unproven) if unproven else yes("Verified", "Answers"))
        return await self._report(found, told, Again(_SOON, "NotProven") if unproven else Done())

    async def _inside(self, applier: Applier, owner: str, made: Plan) -> str:
        """The guest's objects; the registration only after the proof, or where it stands already. Why it is
        not proved, empty when it is."""
        known: dict[Place, Object] = await applier.owned(removal.GUEST, owner)
        things = [Wanted(kindtable.of(one), one) for one in made.guest]
        rest = [one for one in things if one.kind is not kinds.MUTATING]
        for one in rest:
            with contextlib.suppress(*([errors.Foreign] if one.kind is gvk.NAMESPACE else [])):
                await applier.apply(one, owner, known)  # a namespace may be shared
        unproven = await _proved(made)
        last = [one for one in things if one.kind is kinds.MUTATING and (not unproven or one.place in known)]
        for one in last:
            await applier.apply(one, owner, known)
        await applier.prune(known, [*rest, *last])
        return unproven

    async def _beside(self, target: Target) -> list[Object]:
        """Secrets of the control plane and ours, and what runs the API server."""
        parts, names = self._parts, {identity.CA_SECRET, identity.SERVING_SECRET, identity.KUBECONFIG_SECRET}
        names |= {
            target.kubeconfig.secret,
            target.ca.secret,
            *([target.signer.secret] if target.signer else []),
        }
        found = []
        for name in sorted(names):
            one = await pages.one(parts.client, kinds.SECRET, target.namespace, name)
            found += [{"apiVersion": "v1", "kind": "Secret", **one}] if one else []
        kind, _, name = target.workload.partition(" ")
        if kind == "Deployment":
            one = await pages.one(parts.client, gvk.DEPLOYMENT, target.namespace, name)
            found += [{"apiVersion": "apps/v1", "kind": kind, **one}] if one else []
        return found

    async def _guest(
        self, key: str, spec: Hosted, target: Target, beside: list[Object]
    ) -> tuple[Client, Applier]:
        """A client of the guest, and who applies there; raises InvalidInput when there is no kubeconfig."""
        secret = next((one for one in beside if one["metadata"]["name"] == target.kubeconfig.secret), {})
        text = next((said for name in target.kubeconfig.keys if (said := text_of(secret, name))), "")
        if not text:
            place = f"Secret {target.namespace}/{target.kubeconfig.secret}"
            raise errors.InvalidInput(errors.Problem(place, "", "has no kubeconfig of the guest yet"))
        client = await self._parts.guests.client(key, text, spec.server)
        known = self._appliers.get(key)
        if known is None or known[0] is not client:
            known = (client, Applier(client, Pen(client, self._parts.fence), MANAGER))
            self._appliers[key] = known
        return known

    async def _remove(self, key: str, found: Object, spec: Hosted) -> Result:
        parts, meta = self._parts, found["metadata"]
        kind = kindtable.CONTROL_PLANES[spec.target.flavour]
        thing = await pages.one(parts.client, kind, meta["namespace"], spec.target.name)
        applier = None
        target = self._target(spec, thing) if thing is not None else None
        if target is not None and not target.deleting:
            try:
                client, applier = await self._guest(key, spec, target, await self._beside(target))
                await pages.every(client, kinds.MUTATING)
            except (errors.Unavailable, errors.Forbidden, errors.InvalidInput):
                applier = None
        steps = removal.Removal(parts.client, parts.pen, parts.applier, parts.events, parts.now)
        return await steps.run(found, target, applier)

    async def _report(self, found: Object, told: list[Condition], result: Result) -> Result:
        """Write the status, once and only if it changed."""
        now, generation = self._parts.now(), int(found["metadata"].get("generation") or 0)
        before = (found.get("status") or {}).get("conditions")
        after = conditions.merged(before, told, now=now, generation=generation)
        fields = {"observedGeneration": generation, "conditions": after}
        await statuses.write(self._parts.pen, HOSTED_WEBHOOK, found, fields)
        for one in conditions.changed(before, after, "GuestReachable", "Verified"):
            if one["status"] == "False" or before:
                good = one["status"] == "True"
                text = f"{one['type']} is {one['status']}: {one['message']}"
                await self._parts.events.tell(
                    found, one["reason"], text, "Reconcile", "Normal" if good else "Warning"
                )
        return result


def _request(spec: Hosted, image: str) -> Request:
    return Request(
        spec.program,
        spec.attach,
        spec.tenant_id,
        spec.environment,
        spec.region,
        spec.image or image,
        spec.failure_policy,
        spec.replicas,
        spec.url,
        spec.server,
    )


def _containers(target: Target, beside: list[Object]) -> list[str] | None:
    kind, _, name = target.workload.partition(" ")
    for one in beside:
        if (one["kind"], one["metadata"]["name"]) == (kind, name):
            return [str(each["name"]) for each in one["spec"]["template"]["spec"]["containers"]]
    return None


def _resolved(made: Plan) -> list[Condition]:
    return [
        Condition(one["type"], one["status"], one["reason"], "; ".join((one["message"], *made.notes)))
        for one in made.choice.conditions
    ]


async def _proved(made: Plan) -> str:
    """Why the webhook cannot be said to answer; empty when it does, or cannot be asked from here."""
    if made.choice.way != "deployment":
        return ""  # the loopback of another pod; while it is down pods pass
    place = urlsplit(made.url)
    trusted = next(one for one in made.management if one["metadata"]["name"] == identity.SERVING_SECRET)
    uid, host = str(uuid.uuid4()), place.hostname or ""
    bundle = authority.split(text_of(trusted, "ca.crt"))
    answer = await post(host, place.port or 443, host, bundle, place.path, canned.review(uid))
    return answer.error or canned.problem(answer.status, answer.body, uid)
