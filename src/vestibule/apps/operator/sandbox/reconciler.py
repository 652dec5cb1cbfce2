"""KataConfigs and OSCWebhookConfigs are looked at together, since one decides about the other; each gets its
own status. Nothing is written where no installation serves sandboxes, and never to a KataConfig that another
operator manages, or whose definition is another's: what is wrong with it is then told by Events alone."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.adapters.cluster import pages, schemas
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.live import LiveCluster
from vestibule.adapters.cluster.sandboxes import Sandboxes
from vestibule.apps.operator.runtime import statuses
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Pen
from vestibule.apps.operator.runtime.result import Again, Done, Result
from vestibule.apps.operator.sandbox import status
from vestibule.core.kinds import conditions, gvk, installs
from vestibule.core.kinds.conditions import Condition
from vestibule.core.kinds.config import Settings
from vestibule.core.kinds.gvk import Kind
from vestibule.core.mutation.sandbox.conflicts import conflicts

Object = dict[str, Any]
KEY: Final = "sandboxes"
"""The one key: all of them at once."""
_SOON: Final = 1.0


class Parts(NamedTuple):
    """What a reconciler works with."""

    client: Client
    pen: Pen
    events: Events
    installations: Callable[[], Iterable[Object]]
    """Every VestibuleWebhook, as last seen."""
    now: Callable[[], datetime.datetime]


class Reconciler:
    """Writes the status of both kinds."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._sandboxes = Sandboxes(LiveCluster(parts.client))

    async def __call__(self, key: str) -> Result:
        """One look at all of them."""
        if not any(map(_serves, self._parts.installations())):
            return Done()
        await self._sandboxes.look()
        problems: dict[str, str] = {}
        world = self._sandboxes.world(Settings(), problems)
        found = status.Found(world, problems, tuple(conflicts(world.rules)))
        passed = True
        for kind, judge in (
            (gvk.KATA_CONFIG, status.of_config),
            (gvk.OSC_WEBHOOK_CONFIG, status.of_rules),
        ):
            for obj in await pages.every(self._parts.client, kind):
                told = judge(obj, found)
                if kind is gvk.KATA_CONFIG and await self._managed(obj):
                    await self._told(obj, told)
                else:
                    passed &= await self._write(kind, obj, told)
        return Done() if passed else Again(_SOON, "Conflict")

    async def _managed(self, obj: Object) -> bool:
        """Whether a KataConfig is another operator's: by what stands in it, or since the definition that is
        served is not ours."""
        if status.manager(obj):
            return True
        return not await schemas.declares(self._parts.client, gvk.KATA_CONFIG, "spec", "webhook")

    async def _told(self, obj: Object, told: list[Condition]) -> None:
        for one in told:
            if one.type == status.ACCEPTED and one.status == "False":
                await self._parts.events.tell(obj, one.reason, one.message, "Reconcile", "Warning")

    async def _write(self, kind: Kind, obj: Object, told: list[Condition]) -> bool:
        """Write one status; False when somebody wrote in between."""
        generation = int(obj["metadata"].get("generation") or 0)
        before = (obj.get("status") or {}).get("conditions")
        after = conditions.merged(before, told, now=self._parts.now(), generation=generation)
        fields: Object = {"conditions": after}
        if kind is gvk.OSC_WEBHOOK_CONFIG:
            fields["observedGeneration"] = generation
        try:
            await statuses.write(self._parts.pen, kind, obj, fields)
        except (errors.Conflict, errors.NotFound):
            return False
        for one in conditions.changed(before, after, status.ACCEPTED, status.UNAMBIGUOUS):
            if one["status"] == "False":
                await self._parts.events.tell(obj, one["reason"], one["message"], "Reconcile", "Warning")
        return True


def _serves(installation: Object) -> bool:
    """Whether an installation gives pods their sandbox."""
    try:
        settings = installs.parse(installation).settings
    except errors.InvalidInput:
        return False
    sandbox = settings.get("sandbox")
    return isinstance(sandbox, dict) and sandbox.get("enabled") is True
