"""The way out: registrations first, so that nobody calls a webhook that is not there; then all that we made
for the object; then the object itself. What is not ours stays."""

from __future__ import annotations

from typing import Any, Final

from vestibule.apps.operator.runtime import finalizers
from vestibule.apps.operator.runtime.apply import Applier
from vestibule.apps.operator.runtime.pen import Pen
from vestibule.apps.operator.runtime.result import Again, Done, Result
from vestibule.core.kinds import gvk, installs
from vestibule.core.kinds.gvk import Kind
from vestibule.core.native import kinds

Object = dict[str, Any]
_HEARD: Final = 2.0
"""Seconds in which every API server has heard that a registration is gone; about one is usual."""
_SOON: Final = 0.5


def scopes(namespace: str) -> list[tuple[Kind, str]]:
    """Where our objects can be: kinds and namespaces."""
    return [
        *((kind, "") for kind in kinds.WIDE),
        *((kind, namespace) for kind in (*kinds.NEAR, *kinds.CERT_MANAGER)),
        *((kind, "") for kind in kinds.RIGHTS),
    ]


async def remove(applier: Applier, pen: Pen, found: Object, namespace: str) -> Result:
    """One step out; raises as the pen does."""
    if not finalizers.held(found, installs.FINALIZER):
        return Done()
    known = await applier.owned(scopes(namespace), found["metadata"]["name"])
    registered = {place: one for place, one in known.items() if place[0] in kinds.REGISTRATIONS}
    if registered:
        for (kind, _, _), one in registered.items():
            await applier.remove(kind, one)
        return Again(_HEARD, "Unregistered")
    for (kind, _, _), one in known.items():
        await applier.remove(kind, one)
    if known:
        return Again(_SOON, "Removing")
    await finalizers.release(pen, gvk.VESTIBULE_WEBHOOK, found, installs.FINALIZER)
    return Done()
