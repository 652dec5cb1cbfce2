"""Puts what was planned where it belongs, in both clusters and in order."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from vestibule import errors
from vestibule.api import gvk
from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube import api_requests, serviceaccount_issuer
from vestibule.manifests import kinds
from vestibule.operator import failure_policy, webhook_probe
from vestibule.operator.apply import Applier, DesiredObject, Place
from vestibule.operator.controllers.hosted import (
    credential,
    finalize,
    hosted_kinds,
    hypershift_webhooks,
    serving_certificate,
)
from vestibule.operator.controllers.hosted.control_plane import ControlPlane, ForeignEdit
from vestibule.operator.controllers.hosted.desired import HostedDesired
from vestibule.operator.controllers.hosted.reader import HostedCluster
from vestibule.operator.fenced_client import FencedClient
from vestibule.operator.webhook_probe import Replica

Object = dict[str, Any]


class ExistingObjects(NamedTuple):
    """What stands there before anything is written."""

    target: ControlPlane
    beside: list[Object]
    """In the namespace of the control plane."""
    known: dict[Place, Object]
    """Of it, what we made."""
    inside: dict[Place, Object]
    """In the guest, what we made."""


class HostedApplyResult(NamedTuple):
    """What came of it."""

    unproven: str
    """Why the webhook cannot be said to answer; empty when it does, or when only a trial can tell."""
    held: bool
    """Whether ``Ignore`` is registered for the time being, though ``Fail`` is asked for."""


class HostedApplier:
    """Writes for one management cluster and its guests. All of it raises as FencedClient does, and
    ForeignObject."""

    def __init__(
        self,
        writer: FencedClient,
        applier: Applier,
        now: Callable[[], datetime.datetime],
        guard: AddressGuard,
    ) -> None:
        self._guard = guard
        self._writer = writer
        self._applier = applier
        self._now = now

    async def apply(
        self,
        owner: str,
        around: ExistingObjects,
        guest: HostedCluster,
        made: HostedDesired,
        places: list[Replica],
        *,
        tried: bool,
    ) -> HostedApplyResult:
        """Both clusters, in order; ``tried``: nothing that only a trial can prove is left to be proven."""
        target, beside, known, inside = around
        things = [DesiredObject(hosted_kinds.of(one), one) for one in made.guest]
        rest = [one for one in things if one.kind is not kinds.MUTATING]
        for one in rest:
            with contextlib.suppress(*([errors.ForeignObject] if one.kind is gvk.NAMESPACE else [])):
                await guest.applier.apply(one, owner, inside)  # a namespace may be shared
        near = [*made.management[:2], *await self._credential(target, beside, guest, made, inside)]
        near += made.management[2:]
        wanted = [DesiredObject(hosted_kinds.of(one), one) for one in near]
        for one in wanted:
            await self._applier.apply(one, owner, known)
        await self._attach(target, beside, made.edit)
        unproven = ""
        if made.choice.way == "deployment":
            path = urlsplit(made.url).path
            unproven = await webhook_probe.problem(places, path, [made.bundle], self._guard)
        # what is registered is kept in step, whether it answers or not, but not made stricter meanwhile
        last = [one for one in things if one.kind is kinds.MUTATING and (not unproven or one.place in inside)]
        held = False
        if unproven or not tried:
            lenient = [failure_policy.held(one.object, inside.get(one.place) or {}) for one in last]
            last = [DesiredObject(kinds.MUTATING, one.registration) for one in lenient]
            held = any(one.back for one in lenient)
        for one in last:
            await guest.applier.apply(one, owner, inside)
        await guest.applier.prune(inside, [*rest, *last])
        await self._applier.prune(known, wanted)
        return HostedApplyResult(unproven, held)

    async def _credential(
        self,
        target: ControlPlane,
        beside: list[Object],
        guest: HostedCluster,
        made: HostedDesired,
        inside: dict[Place, Object],
    ) -> list[Object]:
        """The Secret with a token of the guest, asked for when the one that is there will not do."""
        if made.server is None:
            return []
        account = inside[gvk.SERVICE_ACCOUNT, serving_certificate.GUEST_NAMESPACE, hypershift_webhooks.OURS]
        name = target.secret("kubeconfig")
        secret = next((one for one in beside if one["metadata"]["name"] == name), None)
        token = credential.valid_token(secret, account, self._now())
        if not token or credential.doubtful(token, await serviceaccount_issuer.kids(guest.client)):
            meta = account["metadata"]
            call = api_requests.create_under(
                gvk.SERVICE_ACCOUNT, meta["namespace"], meta["name"], "token", credential.request()
            )
            answer = await guest.writer.send(
                call, gvk.SERVICE_ACCOUNT, f"asking {target}'s guest for a token"
            )
            token = credential.chosen(token, str(msgspec.json.decode(answer.body)["status"]["token"]))
        return [credential.secret(target, made.server._replace(trusted=guest.authority), token)]

    async def _attach(self, target: ControlPlane, beside: list[Object], wanted: ForeignEdit | None) -> None:
        """Our entries in an object of somebody else: there, or gone when another way was chosen."""
        edit = wanted or finalize.detached(target, beside)
        if edit is not None and edit.changed:
            kind = hosted_kinds.of(edit.thing)
            await self._writer.send(api_requests.replace(kind, edit.thing), kind, f"attaching to {target}")
