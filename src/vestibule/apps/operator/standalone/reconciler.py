"""One VestibuleWebhook: read, desired, apply, status.

The registrations come last, and first only after a review went round to every replica and back. What fails is
collected, told in the status, and tried again; what a human must mend is looked at again on change.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.adapters.cluster import calls, pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.live import LiveCluster
from vestibule.adapters.cluster.sandboxes import Sandboxes
from vestibule.apps.operator.runtime import finalizers, leniency, statuses
from vestibule.apps.operator.runtime.apply import Applier, Place, Wanted
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Deposed, Pen
from vestibule.apps.operator.runtime.result import Again, Done, Result, Stalled
from vestibule.apps.operator.standalone import certificates, desired, proof, removal, status
from vestibule.core.kinds import conditions, gvk, installs, outages
from vestibule.core.kinds.config import Settings
from vestibule.core.kinds.gvk import Kind
from vestibule.core.kinds.installs import Install
from vestibule.core.mutation.sandbox.world import World
from vestibule.core.native import issuing, kinds, neighbours
from vestibule.core.pki import keeping

Object = dict[str, Any]
Known = dict[Place, Object]
_SOON: Final = 1.0
"""Seconds between two looks while something is waited for."""
_LATER: Final = 10.0
"""The same after a fault; after a conflict, somebody only wrote in between."""


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Parts(NamedTuple):
    """What a reconciler works with."""

    client: Client
    pen: Pen
    applier: Applier
    events: Events
    namespace: str
    """Where the operator is, and the webhook comes."""
    image: str
    """Of the webhook, where an object names none."""
    registrations: Callable[[], Iterable[Object]]
    """Every MutatingWebhookConfiguration of the cluster, as last seen."""
    told: Callable[[str, list[Object]], None]
    """Who shows conditions as metrics."""
    now: Callable[[], datetime.datetime] = _now


class _Look(NamedTuple):
    """What one look came to."""

    seen: status.Seen
    again: float | None = None
    until: datetime.datetime | None = None
    conflicts: tuple[str, ...] = ()
    broken: bool = False
    """It ended before anything was known about the installation."""


class Reconciler:
    """Keeps every installation of one cluster."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def __call__(self, name: str) -> Result:
        """One look at one object."""
        parts = self._parts
        found = await pages.one(parts.client, gvk.VESTIBULE_WEBHOOK, "", name)
        if found is None:
            parts.told(name, [])
            return Done(forget=True)
        if finalizers.deleting(found):
            return await removal.remove(parts.applier, parts.pen, found, parts.namespace)
        try:
            spec = installs.parse(found)
            if not spec.paused:
                found = await finalizers.hold(parts.pen, gvk.VESTIBULE_WEBHOOK, found, installs.FINALIZER)
            look = await self._look(found, name, spec)
        except Deposed:
            raise
        except errors.VestibuleError as error:
            look = _Look(status.Seen(problems=(status.problem(error),)), broken=True)
        return await self._report(found, look)

    async def _look(self, found: Object, name: str, spec: Install) -> _Look:
        parts = self._parts
        known = await parts.applier.owned(removal.scopes(parts.namespace), name)
        others = tuple(neighbours.known(parts.registrations(), name))
        deployment = known.get((gvk.DEPLOYMENT, parts.namespace, name))
        registered = any(kind is kinds.MUTATING for kind, _, _ in known)
        seen = status.Seen(deployment, registered=registered, neighbours=others, paused=spec.paused)
        missing = await self._missing(spec)
        if missing and not registered:
            return _Look(seen._replace(waiting=missing, unproven="nothing is installed"), _LATER)
        served = await self._served(name, spec, known)
        if spec.paused:
            unproven = await self._unproven(name, spec, served)
            return _Look(seen._replace(unproven=unproven), until=served.until)
        settings = await self._settings(name, spec, served)
        world = await self._world(settings)
        return await self._apply(name, spec, settings, served, world, known, seen)

    async def _apply(
        self,
        name: str,
        spec: Install,
        settings: Settings,
        served: certificates.Served,
        world: World | None,
        known: Known,
        seen: status.Seen,
    ) -> _Look:
        parts = self._parts
        wanted = desired.objects(settings, spec, world)
        base = [_wanted(one) for one in wanted.base]
        if served.signing is not None and served.serving is not None:
            # the CA's key first: what is served must never be without who signed it
            first = desired.secret(settings, issuing.signing_secret(name), served.signing)
            base[:0] = [_wanted(first), _wanted(desired.secret(settings, f"{name}-tls", served.serving))]
        problems: list[status.Problem] = []
        conflicts: list[str] = []
        await self._apply_all(base, name, known, problems, conflicts)
        unproven = await self._unproven(name, spec, served)
        registrations = [_wanted(one) for one in wanted.registrations]
        # what is registered is kept in step, whether it answers or not, but not made stricter meanwhile
        allowed = [one for one in registrations if served.bundle and (not unproven or one.place in known)]
        held = False
        if unproven:
            lenient = [leniency.held(one.object, known[one.place]) for one in allowed]
            allowed = [_wanted(one.registration) for one in lenient]
            held = any(one.back for one in lenient)
        if not problems:
            await self._apply_all(allowed, name, known, problems, conflicts)
        if not problems:
            try:
                await parts.applier.prune(known, [*base, *registrations])
            except Deposed:
                raise
            except errors.VestibuleError as error:
                problems.append(status.problem(error))
        registered = all(one.place in known for one in registrations)
        seen = seen._replace(
            deployment=known.get((gvk.DEPLOYMENT, parts.namespace, name)),
            problems=tuple(problems),
            waiting=served.waiting,
            unproven=unproven,
            registered=registered,
            held=held,
        )
        again = served.again if registered and not unproven else min(served.again or _SOON, _SOON)
        return _Look(seen, again, served.until, tuple(conflicts))

    async def _apply_all(
        self,
        wanted: Iterable[Wanted],
        owner: str,
        known: Known,
        problems: list[status.Problem],
        conflicts: list[str],
    ) -> None:
        """One after the other; what one object meets keeps none of the others from being right."""
        for one in wanted:
            try:
                told = await self._parts.applier.apply(one, owner, known)
            except Deposed:
                raise
            except errors.VestibuleError as error:
                problems.append(status.problem(error))
                continue
            if told.conflict:
                conflicts.append(f"{one}: {told.conflict}")

    async def _missing(self, spec: Install) -> str:
        """What must be there before anything is installed; empty when nothing is missing."""
        wanted = spec.requires
        if wanted is None:
            return ""
        secret = await pages.one(self._parts.client, kinds.SECRET, self._parts.namespace, wanted.secret)
        if status.deploys(secret, wanted.key):
            return ""
        return f"Secret {self._parts.namespace}/{wanted.secret} has no {wanted.key}"

    async def _served(self, name: str, spec: Install, known: Known) -> certificates.Served:
        parts = self._parts
        secret_name = f"{name}-tls"
        if spec.certificate.mode == "self":
            return certificates.ours(
                known.get((kinds.SECRET, parts.namespace, issuing.signing_secret(name))),
                known.get((kinds.SECRET, parts.namespace, secret_name)),
                [one for (kind, _, _), one in known.items() if kind in kinds.REGISTRATIONS],
                desired.names(name, parts.namespace, spec),
                parts.now(),
                certificates.lives(spec.certificate),
            )
        secret = await pages.one(parts.client, kinds.SECRET, parts.namespace, secret_name)
        service_ca = None
        if spec.certificate.mode == "service-ca":
            where = desired.service_ca_map(name)
            service_ca = await pages.one(parts.client, gvk.CONFIG_MAP, parts.namespace, where)
        return certificates.theirs(spec.certificate, name, secret, service_ca)

    async def _settings(self, name: str, spec: Install, served: certificates.Served) -> Settings:
        nodes = 0
        if spec.replicas is None:
            # two are as good as a thousand
            answer = await self._parts.client.send(calls.list_page(kinds.NODE, size=2))
            nodes = len(pages.items(answer, kinds.NODE))
        count = desired.replicas(spec.replicas, nodes)
        bundle = keeping.encoded(served.bundle) if served.bundle else ""
        image = spec.image or self._parts.image
        return desired.settings(name, self._parts.namespace, spec, image, count, bundle)

    async def _world(self, settings: Settings) -> World | None:
        if not settings.sandbox.enabled:
            return None
        sandboxes = Sandboxes(LiveCluster(self._parts.client))
        await sandboxes.look()
        return sandboxes.world(settings, {})

    async def _unproven(self, name: str, spec: Install, served: certificates.Served) -> str:
        if not served.bundle:
            return served.waiting or "there is no CA to trust"
        places = await proof.places(self._parts.client, name, self._parts.namespace, spec)
        return await proof.problem(places, served.bundle)

    async def _report(self, found: Object, look: _Look) -> Result:
        """Write the status, tell what changed, and say when to look again."""
        parts, meta = self._parts, found["metadata"]
        now = parts.now()
        before = (found.get("status") or {}).get("conditions")
        failing = conditions.find(before, "Reconciled") or {}
        failing_for = conditions.since(failing, now) if failing.get("status") == "False" else 0.0
        seen = look.seen._replace(failing_for=failing_for)
        generation = int(meta.get("generation") or 0)
        told = status.faults(seen, before) if look.broken else status.conditions(seen)
        after = conditions.merged(before, told, now=now, generation=generation)
        fields: Object = {"observedGeneration": generation, "conditions": after}
        away = outages.noted(
            (found.get("status") or {}).get("outages"),
            conditions.find(before, "Available"),
            conditions.find(after, "Available") or {},
        )
        if away:
            fields["outages"] = away
        if look.until is not None:
            fields["certificateNotAfter"] = conditions.moment(look.until)
        await statuses.write(parts.pen, gvk.VESTIBULE_WEBHOOK, found, fields)
        parts.told(str(meta["name"]), after)
        for one in conditions.changed(before, after, "Available", "Degraded", "Alone"):
            good = (one["status"] == "True") != (one["type"] == "Degraded")
            if good and not before:
                continue  # a good beginning is no news
            await parts.events.tell(
                found,
                one["reason"],
                f"{one['type']} is {one['status']}: {one['message']}",
                "Reconcile",
                "Normal" if good else "Warning",
            )
        for text in look.conflicts:
            await parts.events.tell(found, "FieldTakenBack", text, "Apply", "Warning")
        return _result(look)


def _wanted(obj: Object) -> Wanted:
    return Wanted(_kind(obj), obj)


def _kind(obj: Mapping[str, Any]) -> Kind:
    return kinds.of(obj)


def _result(look: _Look) -> Result:
    problems = look.seen.problems
    if any(one.reason == "InvalidSpec" for one in problems):
        return Stalled(problems[0].reason, problems[0].message)
    if problems:
        passing = all(one.reason == "Conflict" for one in problems)
        return Again(_SOON if passing else _LATER, problems[0].reason)
    if look.again is not None:
        return Again(look.again, "Waiting")
    return Done()
