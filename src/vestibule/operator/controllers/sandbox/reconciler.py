"""KataConfigs and OSCWebhookConfigs are looked at together, since one decides about the other; each gets its
own status. Nothing is written where no installation serves sandboxes, and never to a KataConfig that another
operator manages, or whose definition is another's: what is wrong with it is then told by Events alone."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api import conditions, gvk, vestibulewebhook
from vestibule.api.conditions import Condition
from vestibule.api.gvk import Kind
from vestibule.api.settings.schema import Settings
from vestibule.injection.sandbox.conflicts import conflicts
from vestibule.kube import lister, openapi
from vestibule.kube.client import Client
from vestibule.kube.live_cluster import LiveCluster
from vestibule.kube.sandbox_sources import SandboxSources
from vestibule.operator import status_writer
from vestibule.operator.controllers.sandbox import status
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import FencedClient
from vestibule.operator.result import Reconciled, RequeueAfter, Result

Object = dict[str, Any]
KEY: Final = "sandboxes"
"""The one key: all of them at once."""
_SOON: Final = 1.0


class SandboxReconcilerDeps(NamedTuple):
    """What a reconciler works with."""

    client: Client
    writer: FencedClient
    events: Events
    installations: Callable[[], Iterable[Object]]
    """Every VestibuleWebhook, as last seen."""
    now: Callable[[], datetime.datetime]


class SandboxReconciler:
    """Writes the status of both kinds."""

    def __init__(self, parts: SandboxReconcilerDeps) -> None:
        self._parts = parts
        self._sandboxes = SandboxSources(LiveCluster(parts.client))

    async def __call__(self, key: str) -> Result:
        """One look at all of them."""
        if not any(map(_serves, self._parts.installations())):
            return Reconciled()
        await self._sandboxes.look()
        problems: dict[str, str] = {}
        kata_policy = self._sandboxes.kata_policy(Settings(), problems)
        found = status.SandboxFacts(kata_policy, problems, tuple(conflicts(kata_policy.rules)))
        passed = True
        for kind, judge in (
            (gvk.KATA_CONFIG, status.of_config),
            (gvk.OSC_WEBHOOK_CONFIG, status.of_rules),
        ):
            for obj in await lister.every(self._parts.client, kind):
                told = judge(obj, found)
                if kind is gvk.KATA_CONFIG and await self._managed(obj):
                    await self._told(obj, told)
                else:
                    passed &= await self._write(kind, obj, told)
        return Reconciled() if passed else RequeueAfter(_SOON, "Conflict")

    async def _managed(self, obj: Object) -> bool:
        """Whether a KataConfig is another operator's: by what stands in it, or since the definition that is
        served is not ours."""
        if status.manager(obj):
            return True
        return not await openapi.declares(self._parts.client, gvk.KATA_CONFIG, "spec", "webhook")

    async def _told(self, obj: Object, told: list[Condition]) -> None:
        for one in told:
            if one.type == status.ACCEPTED and one.status == "False":
                await self._parts.events.tell(obj, one.reason, one.message, "Reconcile", "Warning")

    async def _write(self, kind: Kind, obj: Object, told: list[Condition]) -> bool:
        """Write one status; False when somebody wrote in between."""
        generation = int(obj["metadata"].get("generation") or 0)
        before = (obj.get("status") or {}).get("conditions")
        # a KataConfig may be another operator's: no condition there that others read
        ready = (status.ACCEPTED,) if kind is gvk.OSC_WEBHOOK_CONFIG else ()
        now = self._parts.now()
        after = conditions.merged(before, told, now=now, generation=generation, ready=ready)
        fields: Object = {"conditions": after}
        if kind is gvk.OSC_WEBHOOK_CONFIG:
            fields["observedGeneration"] = generation
        try:
            await status_writer.write(self._parts.writer, kind, obj, fields)
        except (errors.Conflict, errors.NotFound):
            return False
        for one in conditions.changed(before, after, status.ACCEPTED, status.UNAMBIGUOUS):
            if one["status"] == "False":
                await self._parts.events.tell(obj, one["reason"], one["message"], "Reconcile", "Warning")
        return True


def _serves(installation: Object) -> bool:
    """Whether an installation gives pods their sandbox."""
    try:
        settings = vestibulewebhook.parse(installation).settings
    except errors.InvalidInput:
        return False
    sandbox = settings.get("sandbox")
    return isinstance(sandbox, dict) and sandbox.get("enabled") is True
