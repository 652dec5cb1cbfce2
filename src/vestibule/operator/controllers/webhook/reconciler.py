"""One VestibuleWebhook: read, desired, apply, status.

The registrations come last, and first only after a review went round to every replica and back. What fails is
collected, told in the status, and tried again; what a human must mend is looked at again on change.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api import conditions, downtime, gvk, vestibulewebhook
from vestibule.api.gvk import Kind
from vestibule.api.settings.schema import Settings
from vestibule.api.vestibulewebhook import VestibuleWebhookSpec
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.kube import api_requests, lister
from vestibule.kube.client import Client
from vestibule.kube.live_cluster import LiveCluster
from vestibule.kube.sandbox_sources import SandboxSources
from vestibule.manifests import certificates_workload, foreign_webhooks, kinds
from vestibule.operator import failure_policy, finalizers, status_writer
from vestibule.operator.apply import Applier, DesiredObject, Place
from vestibule.operator.controllers.webhook import certificates, desired, finalize, replicas, status
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import FencedClient, LeadershipLost
from vestibule.operator.result import Reconciled, RequeueAfter, Result, Terminal
from vestibule.pki import tls_secret

Object = dict[str, Any]
Known = dict[Place, Object]
_SOON: Final = 1.0
"""Seconds between two looks while something is waited for."""
_LATER: Final = 10.0
"""The same after a fault; after a conflict, somebody only wrote in between."""


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class WebhookReconcilerDeps(NamedTuple):
    """What a reconciler works with."""

    client: Client
    writer: FencedClient
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


class _WebhookObservation(NamedTuple):
    """What one look came to."""

    seen: status.InstallObservation
    again: float | None = None
    until: datetime.datetime | None = None
    conflicts: tuple[str, ...] = ()
    broken: bool = False
    """It ended before anything was known about the installation."""


class WebhookReconciler:
    """Keeps every installation of one cluster."""

    def __init__(self, parts: WebhookReconcilerDeps) -> None:
        self._parts = parts

    async def __call__(self, name: str) -> Result:
        """One look at one object."""
        parts = self._parts
        found = await lister.one(parts.client, gvk.VESTIBULE_WEBHOOK, "", name)
        if found is None:
            parts.told(name, [])
            return Reconciled(forget=True)
        if finalizers.deleting(found):
            return await finalize.remove(parts.applier, parts.writer, found, parts.namespace)
        try:
            spec = vestibulewebhook.parse(found)
            if not spec.paused:
                found = await finalizers.hold(
                    parts.writer, gvk.VESTIBULE_WEBHOOK, found, vestibulewebhook.FINALIZER
                )
            look = await self._look(found, name, spec)
        except LeadershipLost:
            raise
        except errors.VestibuleError as error:
            look = _WebhookObservation(
                status.InstallObservation(problems=(status.problem(error),)), broken=True
            )
        return await self._report(found, look)

    async def _look(self, found: Object, name: str, spec: VestibuleWebhookSpec) -> _WebhookObservation:
        parts = self._parts
        known = await parts.applier.owned(finalize.scopes(parts.namespace), name)
        others = tuple(foreign_webhooks.known(parts.registrations(), name))
        deployment = known.get((gvk.DEPLOYMENT, parts.namespace, name))
        registered = any(kind is kinds.MUTATING for kind, _, _ in known)
        seen = status.InstallObservation(
            deployment, registered=registered, neighbours=others, paused=spec.paused
        )
        missing = await self._missing(spec)
        if missing and not registered:
            return _WebhookObservation(
                seen._replace(waiting=missing, unproven="nothing is installed"), _LATER
            )
        served = await self._served(name, spec, known)
        if spec.paused:
            unproven = await self._unproven(name, spec, served)
            return _WebhookObservation(seen._replace(unproven=unproven), until=served.until)
        settings = await self._settings(name, spec, served)
        kata_policy = await self._kata_policy(settings)
        return await self._apply(name, spec, settings, served, kata_policy, known, seen)

    async def _apply(
        self,
        name: str,
        spec: VestibuleWebhookSpec,
        settings: Settings,
        served: certificates.CertificateFacts,
        kata_policy: SandboxPolicy | None,
        known: Known,
        seen: status.InstallObservation,
    ) -> _WebhookObservation:
        parts = self._parts
        wanted = desired.objects(settings, spec, kata_policy)
        base = [_wanted(one) for one in wanted.base]
        if served.signing is not None and served.serving is not None:
            # the CA's key first: what is served must never be without who signed it
            first = desired.secret(settings, certificates_workload.signing_secret(name), served.signing)
            base[:0] = [_wanted(first), _wanted(desired.secret(settings, f"{name}-tls", served.serving))]
        problems: list[status.InstallProblem] = []
        conflicts: list[str] = []
        await self._apply_all(base, name, known, problems, conflicts)
        unproven = await self._unproven(name, spec, served)
        registrations = [_wanted(one) for one in wanted.registrations]
        # what is registered is kept in step, whether it answers or not, but not made stricter meanwhile
        allowed = [one for one in registrations if served.bundle and (not unproven or one.place in known)]
        held = False
        if unproven:
            lenient = [failure_policy.held(one.object, known[one.place]) for one in allowed]
            allowed = [_wanted(one.registration) for one in lenient]
            held = any(one.back for one in lenient)
        if not problems:
            await self._apply_all(allowed, name, known, problems, conflicts)
        if not problems:
            try:
                await parts.applier.prune(known, [*base, *registrations])
            except LeadershipLost:
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
        return _WebhookObservation(seen, again, served.until, tuple(conflicts))

    async def _apply_all(
        self,
        wanted: Iterable[DesiredObject],
        owner: str,
        known: Known,
        problems: list[status.InstallProblem],
        conflicts: list[str],
    ) -> None:
        """One after the other; what one object meets keeps none of the others from being right."""
        for one in wanted:
            try:
                told = await self._parts.applier.apply(one, owner, known)
            except LeadershipLost:
                raise
            except errors.VestibuleError as error:
                problems.append(status.problem(error))
                continue
            if told.conflict:
                conflicts.append(f"{one}: {told.conflict}")

    async def _missing(self, spec: VestibuleWebhookSpec) -> str:
        """What must be there before anything is installed; empty when nothing is missing."""
        wanted = spec.requires
        if wanted is None:
            return ""
        secret = await lister.one(self._parts.client, kinds.SECRET, self._parts.namespace, wanted.secret)
        if status.deploys(secret, wanted.key):
            return ""
        return f"Secret {self._parts.namespace}/{wanted.secret} has no {wanted.key}"

    async def _served(
        self, name: str, spec: VestibuleWebhookSpec, known: Known
    ) -> certificates.CertificateFacts:
        parts = self._parts
        secret_name = f"{name}-tls"
        if spec.certificate.mode == "self":
            return certificates.ours(
                known.get((kinds.SECRET, parts.namespace, certificates_workload.signing_secret(name))),
                known.get((kinds.SECRET, parts.namespace, secret_name)),
                [one for (kind, _, _), one in known.items() if kind in kinds.WEBHOOK_CONFIGURATIONS],
                desired.names(name, parts.namespace, spec),
                parts.now(),
                certificates.lives(spec.certificate),
            )
        secret = await lister.one(parts.client, kinds.SECRET, parts.namespace, secret_name)
        service_ca = None
        if spec.certificate.mode == "service-ca":
            where = desired.service_ca_map(name)
            service_ca = await lister.one(parts.client, gvk.CONFIG_MAP, parts.namespace, where)
        return certificates.theirs(spec.certificate, name, secret, service_ca)

    async def _settings(
        self, name: str, spec: VestibuleWebhookSpec, served: certificates.CertificateFacts
    ) -> Settings:
        nodes = 0
        if spec.replicas is None:
            # two are as good as a thousand
            answer = await self._parts.client.send(api_requests.list_page(kinds.NODE, size=2))
            nodes = len(lister.items(answer, kinds.NODE))
        count = desired.replicas(spec.replicas, nodes)
        bundle = tls_secret.encoded(served.bundle) if served.bundle else ""
        image = spec.image or self._parts.image
        return desired.settings(name, self._parts.namespace, spec, image, count, bundle)

    async def _kata_policy(self, settings: Settings) -> SandboxPolicy | None:
        if not settings.sandbox.enabled:
            return None
        sandboxes = SandboxSources(LiveCluster(self._parts.client))
        await sandboxes.look()
        return sandboxes.kata_policy(settings, {})

    async def _unproven(
        self, name: str, spec: VestibuleWebhookSpec, served: certificates.CertificateFacts
    ) -> str:
        if not served.bundle:
            return served.waiting or "there is no CA to trust"
        places = await replicas.places(self._parts.client, name, self._parts.namespace, spec)
        return await replicas.problem(places, served.bundle)

    async def _report(self, found: Object, look: _WebhookObservation) -> Result:
        """Write the status, tell what changed, and say when to look again."""
        parts, meta = self._parts, found["metadata"]
        now = parts.now()
        before = (found.get("status") or {}).get("conditions")
        failing = conditions.find(before, "Reconciled") or {}
        failing_for = conditions.since(failing, now) if failing.get("status") == "False" else 0.0
        seen = look.seen._replace(failing_for=failing_for)
        generation = int(meta.get("generation") or 0)
        told = status.faults(seen, before) if look.broken else status.conditions(seen)
        after = conditions.merged(before, told, now=now, generation=generation, ready=status.READY)
        fields: Object = {"observedGeneration": generation, "conditions": after}
        away = downtime.noted(
            (found.get("status") or {}).get("outages"),
            conditions.find(before, "Available"),
            conditions.find(after, "Available") or {},
        )
        if away:
            fields["outages"] = away
        if look.until is not None:
            fields["certificateNotAfter"] = conditions.moment(look.until)
        await status_writer.write(parts.writer, gvk.VESTIBULE_WEBHOOK, found, fields)
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


def _wanted(obj: Object) -> DesiredObject:
    return DesiredObject(_kind(obj), obj)


def _kind(obj: Mapping[str, Any]) -> Kind:
    return kinds.of(obj)


def _result(look: _WebhookObservation) -> Result:
    problems = look.seen.problems
    if any(one.reason == "InvalidSpec" for one in problems):
        return Terminal(problems[0].reason, problems[0].message)
    if problems:
        passing = all(one.reason == "Conflict" for one in problems)
        return RequeueAfter(_SOON if passing else _LATER, problems[0].reason)
    if look.again is not None:
        return RequeueAfter(look.again, "Waiting")
    return Reconciled()
