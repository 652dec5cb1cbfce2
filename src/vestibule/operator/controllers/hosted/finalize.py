"""The way down, walked: ``teardown`` says what to do, and this does it, each step after the one before."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from vestibule.api import conditions, gvk
from vestibule.api.gvk import Kind
from vestibule.api.hostedwebhook import FINALIZER, HOSTED_WEBHOOK
from vestibule.kube import api_requests
from vestibule.manifests import kinds
from vestibule.operator import finalizers, status_writer
from vestibule.operator.apply import Applier, Place, place
from vestibule.operator.controllers.hosted import (
    hosted_kinds,
    hypershift_webhooks,
    platform_table,
    serving_certificate,
    teardown,
)
from vestibule.operator.controllers.hosted.control_plane import ControlPlane, ForeignEdit
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import FencedClient
from vestibule.operator.result import Reconciled, RequeueAfter, Result

Object = dict[str, Any]
Scopes = tuple[tuple[Kind, str], ...]
HEARD: Final = 2.0
"""Seconds after which every API server of a guest knows that a registration is gone."""
_LONGEST: Final = 56
"""Characters of a name in a label, beside our prefix."""
GUEST: Final[Scopes] = (
    (kinds.MUTATING, ""),
    (kinds.CLUSTER_ROLE_BINDING, ""),
    (kinds.CLUSTER_ROLE, ""),
    (gvk.SERVICE_ACCOUNT, serving_certificate.GUEST_NAMESPACE),
)
"""Where our objects are in a guest, in the order in which they go; the namespace stays, it may hold what is
not ours."""
_INSIDE: Final[Scopes] = (
    *(
        (kind, serving_certificate.GUEST_NAMESPACE)
        for kind in (*kinds.NEAR, *kinds.RBAC)
        if kind is not gvk.SERVICE_ACCOUNT
    ),
    (kinds.VALIDATING, ""),
    (kinds.POLICY_BINDING, ""),
    (kinds.POLICY, ""),
)


def management(namespace: str) -> Scopes:
    """Where our objects are beside a control plane, the workload before its Secrets."""
    near = (gvk.DEPLOYMENT, kinds.SERVICE, kinds.BUDGET, kinds.NETWORK_POLICY, kinds.SECRET)
    return tuple((kind, namespace) for kind in near)


def owner(found: Object) -> str:
    """What our objects say whose they are. No name of an object has an underscore, so nothing that was made
    for another kind can be taken for it; a label has 63 characters."""
    name = str(found["metadata"]["name"])
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"hosted_{name}"


async def found(
    applier: Applier, owner: str, registered: Sequence[Object], *, whole: bool
) -> dict[Place, Object]:
    """What we made in a guest, besides the registrations that were seen already. An installation there is
    looked for where one is wanted, or shows."""
    rest = await applier.owned((*GUEST[1:], (gvk.DEPLOYMENT, serving_certificate.GUEST_NAMESPACE)), owner)
    if whole or any(kind is gvk.DEPLOYMENT for kind, _, _ in rest):
        rest |= await applier.owned(_INSIDE, owner)
    return {**{place(kinds.MUTATING, one): one for one in registered}, **rest}


def detached(target: ControlPlane, beside: Sequence[Object]) -> ForeignEdit | None:
    """The object that holds a control plane without our entries; None: it never has any."""
    flavour = platform_table.ALL[target.flavour]
    holder, thing = flavour.holder(target.thing), target.thing
    if holder is not None:
        held = [one for one in beside if (one["kind"], one["metadata"]["name"]) == holder]
        if not held:
            return None
        thing = held[0]
    return flavour.detached(thing, hypershift_webhooks.OURS)


async def withdraw(guest: Applier, near: Applier, namespace: str, owner: str) -> bool:
    """Everything that was made for a request, the registration first; the request stays. Whether all of it
    is gone: replicas answer until every API server of the guest has heard that nobody is to be called."""
    if await _remove(guest, (*GUEST, *_INSIDE), owner):
        return False
    await _remove(near, management(namespace), owner)
    return True


class HostedFinalizer:
    """Takes down what was made for one request."""

    def __init__(
        self, writer: FencedClient, applier: Applier, events: Events, now: Callable[[], datetime.datetime]
    ) -> None:
        self._writer, self._applier, self._events, self._now = writer, applier, events, now

    async def run(
        self,
        found: Object,
        target: ControlPlane | None,
        holders: Sequence[Object],
        guest: Applier | None,
        limit: datetime.timedelta = teardown.LIMIT,
    ) -> Result:
        """Take down what can be; ``guest`` is None when it does not answer."""
        if not finalizers.held(found, FINALIZER):
            return Reconciled(forget=True)
        now, namespace = self._now(), str(found["metadata"]["namespace"])
        before = conditions.find((found.get("status") or {}).get("conditions"), "GuestReachable")
        silent = now - datetime.timedelta(seconds=conditions.since(before, now)) if _silent(before) else None
        plan = teardown.plan(
            teardown.TeardownObservation(
                reachable=guest is not None,
                silent_since=silent,
                control_plane_deleting=target is None or target.deleting,
            ),
            now,
            limit,
        )
        own = owner(found)
        if plan.retry is not None:
            await self._tell_silence(found, plan.message)
            return RequeueAfter(min(plan.retry.total_seconds(), 15.0), "GuestUnreachable")
        reached = guest if not plan.guest_skipped else None
        if reached is not None and await _remove(reached, (*GUEST, *_INSIDE), own):
            return RequeueAfter(HEARD, "Unregistered")
        if target is not None and not target.deleting:
            await self._detach(target, holders)
        await _remove(self._applier, management(namespace), own)
        if plan.event:
            await self._events.tell(found, plan.event, plan.message, "Delete", "Warning")
        await finalizers.release(self._writer, HOSTED_WEBHOOK, found, FINALIZER)
        return Reconciled(forget=True)

    async def _detach(self, target: ControlPlane, holders: Sequence[Object]) -> None:
        """Our entries leave the control plane's own object before the Secrets that they mount go."""
        edit = detached(target, holders)
        if edit is not None and edit.changed:
            kind = hosted_kinds.of(edit.thing)
            await self._writer.send(api_requests.replace(kind, edit.thing), kind, f"detaching from {target}")

    async def _tell_silence(self, found: Object, message: str) -> None:
        generation = int(found["metadata"].get("generation") or 0)
        after = conditions.merged(
            (found.get("status") or {}).get("conditions"),
            [conditions.no("GuestReachable", "NoAnswer", "the guest does not answer, and must be cleaned")],
            now=self._now(),
            generation=generation,
        )
        del message  # it holds a duration, which would be a write at every look
        await status_writer.write(self._writer, HOSTED_WEBHOOK, found, {"conditions": after})


def _silent(condition: Object | None) -> bool:
    return condition is not None and condition.get("status") == "False"


async def _remove(applier: Applier, scopes: Scopes, owner: str) -> bool:
    """Everything of ours, in the order of the scopes; whether a registration was among it."""
    known = await applier.owned(scopes, owner)
    for kind, _ in scopes:
        for where, thing in known.items():
            if where[0] is kind:
                await applier.remove(kind, thing)
    return any(kind is kinds.MUTATING for kind, _, _ in known)
