"""The way out: registrations first, so that nobody calls a webhook that is not there; then all that we made
for the object; then the object itself. What is not ours stays."""

from __future__ import annotations

from typing import Any, Final

from vestibule.api import gvk, vestibulewebhook
from vestibule.api.gvk import Kind
from vestibule.manifests import kinds
from vestibule.operator import finalizers
from vestibule.operator.apply import Applier
from vestibule.operator.fenced_client import FencedClient
from vestibule.operator.result import Reconciled, RequeueAfter, Result

Object = dict[str, Any]
_HEARD: Final = 2.0
"""Seconds in which every API server has heard that a registration is gone; about one is usual."""
_SOON: Final = 0.5


def scopes(namespace: str) -> list[tuple[Kind, str]]:
    """Where our objects can be: kinds and namespaces."""
    return [
        *((kind, "") for kind in kinds.WIDE),
        *((kind, namespace) for kind in (*kinds.NEAR, *kinds.CERT_MANAGER)),
        *((kind, "") for kind in kinds.RBAC),
    ]


async def remove(applier: Applier, writer: FencedClient, found: Object, namespace: str) -> Result:
    """One step of the removal; raises as FencedClient does."""
    if not finalizers.held(found, vestibulewebhook.FINALIZER):
        return Reconciled()
    known = await applier.owned(scopes(namespace), found["metadata"]["name"])
    registered = {place: one for place, one in known.items() if place[0] in kinds.WEBHOOK_CONFIGURATIONS}
    if registered:
        for (kind, _, _), one in registered.items():
            await applier.remove(kind, one)
        return RequeueAfter(_HEARD, "Unregistered")
    for (kind, _, _), one in known.items():
        await applier.remove(kind, one)
    if known:
        return RequeueAfter(_SOON, "Removing")
    await finalizers.release(writer, gvk.VESTIBULE_WEBHOOK, found, vestibulewebhook.FINALIZER)
    return Reconciled()
