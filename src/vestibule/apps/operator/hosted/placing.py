"""Puts what was planned where it belongs, in both clusters and in order."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from vestibule import errors
from vestibule.adapters.cluster import calls, signing
from vestibule.adapters.cluster.guard import Guard
from vestibule.apps.operator.hosted import credential, identity, kindtable, removal, webhooks
from vestibule.apps.operator.hosted.plan import Plan
from vestibule.apps.operator.hosted.surroundings import Guest
from vestibule.apps.operator.hosted.target import Edit, Target
from vestibule.apps.operator.runtime import leniency, roundtrip
from vestibule.apps.operator.runtime.apply import Applier, Place, Wanted
from vestibule.apps.operator.runtime.pen import Pen
from vestibule.apps.operator.runtime.roundtrip import Replica
from vestibule.core.kinds import gvk
from vestibule.core.native import kinds

Object = dict[str, Any]


class Around(NamedTuple):
    """What stands there before anything is written."""

    target: Target
    beside: list[Object]
    """In the namespace of the control plane."""
    known: dict[Place, Object]
    """Of it, what we made."""
    inside: dict[Place, Object]
    """In the guest, what we made."""


class Placed(NamedTuple):
    """What came of it."""

    unproven: str
    """Why the webhook cannot be said to answer; empty when it does, or when only a trial can tell."""
    held: bool
    """Whether ``Ignore`` is registered for the time being, though ``Fail`` is asked for."""


class Placing:
    """Writes for one management cluster and its guests. All of it raises as the pen does, and Foreign."""

    def __init__(
        self, pen: Pen, applier: Applier, now: Callable[[], datetime.datetime], guard: Guard
    ) -> None:
        self._guard = guard
        self._pen = pen
        self._applier = applier
        self._now = now

    async def apply(
        self, owner: str, around: Around, guest: Guest, made: Plan, places: list[Replica], *, tried: bool
    ) -> Placed:
        """Both clusters, in order; ``tried``: nothing that only a trial can prove is left to be proven."""
        target, beside, known, inside = around
        things = [Wanted(kindtable.of(one), one) for one in made.guest]
        rest = [one for one in things if one.kind is not kinds.MUTATING]
        for one in rest:
            with contextlib.suppress(*([errors.Foreign] if one.kind is gvk.NAMESPACE else [])):
                await guest.applier.apply(one, owner, inside)  # a namespace may be shared
        near = [*made.management[:2], *await self._credential(target, beside, guest, made, inside)]
        near += made.management[2:]
        wanted = [Wanted(kindtable.of(one), one) for one in near]
        for one in wanted:
            await self._applier.apply(one, owner, known)
        await self._attach(target, beside, made.edit)
        unproven = ""
        if made.choice.way == "deployment":
            path = urlsplit(made.url).path
            unproven = await roundtrip.problem(places, path, [made.bundle], self._guard)
        # what is registered is kept in step, whether it answers or not, but not made stricter meanwhile
        last = [one for one in things if one.kind is kinds.MUTATING and (not unproven or one.place in inside)]
        held = False
        if unproven or not tried:
            lenient = [leniency.held(one.object, inside.get(one.place) or {}) for one in last]
            last = [Wanted(kinds.MUTATING, one.registration) for one in lenient]
            held = any(one.back for one in lenient)
        for one in last:
            await guest.applier.apply(one, owner, inside)
        await guest.applier.prune(inside, [*rest, *last])
        await self._applier.prune(known, wanted)
        return Placed(unproven, held)

    async def _credential(
        self,
        target: Target,
        beside: list[Object],
        guest: Guest,
        made: Plan,
        inside: dict[Place, Object],
    ) -> list[Object]:
        """The Secret with a token of the guest, asked for when the one that is there will not do."""
        if made.server is None:
            return []
        account = inside[gvk.SERVICE_ACCOUNT, identity.GUEST_NAMESPACE, webhooks.OURS]
        name = target.secret("kubeconfig")
        secret = next((one for one in beside if one["metadata"]["name"] == name), None)
        token = credential.kept(secret, account, self._now())
        if not token or credential.doubtful(token, await signing.kids(guest.client)):
            meta = account["metadata"]
            call = calls.create_under(
                gvk.SERVICE_ACCOUNT, meta["namespace"], meta["name"], "token", credential.request()
            )
            answer = await guest.pen.send(call, gvk.SERVICE_ACCOUNT, f"asking {target}'s guest for a token")
            token = credential.chosen(token, str(msgspec.json.decode(answer.body)["status"]["token"]))
        return [credential.secret(target, made.server._replace(trusted=guest.authority), token)]

    async def _attach(self, target: Target, beside: list[Object], wanted: Edit | None) -> None:
        """Our entries in an object of somebody else: there, or gone when another way was chosen."""
        edit = wanted or removal.detached(target, beside)
        if edit is not None and edit.changed:
            kind = kindtable.of(edit.thing)
            await self._pen.send(calls.replace(kind, edit.thing), kind, f"attaching to {target}")
