"""Reports on every IdentityPolicy whether it can be understood. One that cannot refuses identities in its
scope, so its author must learn of it where they look: in the status and by an Event."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api import conditions, gvk, identitypolicy
from vestibule.api.conditions import Condition
from vestibule.kube import lister
from vestibule.kube.client import Client
from vestibule.operator import status_writer
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import FencedClient
from vestibule.operator.result import Reconciled, RequeueAfter, Result

Object = dict[str, Any]
ACCEPTED: Final = "Accepted"
_SOON: Final = 1.0


class PolicyReconcilerDeps(NamedTuple):
    """What a reconciler works with."""

    client: Client
    writer: FencedClient
    events: Events
    now: Callable[[], datetime.datetime]


class PolicyReconciler:
    """Writes the status of one policy."""

    def __init__(self, parts: PolicyReconcilerDeps) -> None:
        self._parts = parts

    async def __call__(self, key: str) -> Result:
        """Reconcile the policy of this name."""
        obj = await lister.one(self._parts.client, gvk.IDENTITY_POLICY, "", key)
        if obj is None or obj["metadata"].get("deletionTimestamp"):
            return Reconciled()
        generation = int(obj["metadata"].get("generation") or 0)
        before = (obj.get("status") or {}).get("conditions")
        after = conditions.merged(
            before, [judged(obj)], now=self._parts.now(), generation=generation, ready=(ACCEPTED,)
        )
        try:
            fields = {"conditions": after, "observedGeneration": generation}
            await status_writer.write(self._parts.writer, gvk.IDENTITY_POLICY, obj, fields)
        except errors.NotFound:
            return Reconciled()
        except errors.Conflict:
            return RequeueAfter(_SOON, "Conflict")
        for one in conditions.changed(before, after, ACCEPTED):
            if one["status"] == "False":
                await self._parts.events.tell(obj, one["reason"], one["message"], "Reconcile", "Warning")
        return Reconciled()


def judged(obj: Object) -> Condition:
    """Whether the policy can be understood, and if not, everything that is wrong with it."""
    try:
        identitypolicy.of_object(obj)
    except errors.InvalidInput as error:
        problems = "; ".join(f"spec.{one.field} {one.text}" for one in error.problems)
        text = f"identities in its scope are refused until this is repaired: {problems}"
        return conditions.no(ACCEPTED, "Invalid", text)
    return conditions.yes(ACCEPTED, "AsExpected")
