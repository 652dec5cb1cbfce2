"""What an audit is held against: the settings that the webhook runs with, the policies beside them, and how
the API server calls it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from vestibule import errors
from vestibule.adapters.cluster import pages
from vestibule.adapters.cluster.census import Census
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.live import LiveCluster
from vestibule.adapters.cluster.supplements import Supplements
from vestibule.core.doctor import registration
from vestibule.core.doctor.census import Entry
from vestibule.core.doctor.registration import Registration
from vestibule.core.kinds import config, gvk, outages
from vestibule.core.kinds.outages import Outage
from vestibule.core.mutation.policy import Policy, compile_policy
from vestibule.core.native import kinds, sandboxes
from vestibule.core.native.workload import SETTINGS_FILE

Object = dict[str, Any]


class Standard(NamedTuple):
    """All of it."""

    policy: Policy
    registration: Registration
    sandboxes: tuple[Registration, ...]
    outages: tuple[Outage, ...]

    def census(
        self, client: Client, now: datetime.datetime, found: Callable[[Entry], None] | None = None
    ) -> Census:
        """A census by it."""
        return Census(
            client,
            self.policy,
            self.registration,
            now,
            sandboxes=self.sandboxes,
            outages=self.outages,
            found=found,
        )


async def standard(client: Client, obj: Object, namespace: str) -> Standard | None:
    """None while the webhook is not installed. Raises Unavailable, Forbidden, InvalidSettings."""
    name = str(obj["metadata"]["name"])
    stored = await pages.one(client, gvk.CONFIG_MAP, namespace, f"{name}-settings")
    text = ((stored or {}).get("data") or {}).get(SETTINGS_FILE)
    if text is None:
        return None
    place = f"ConfigMap {namespace}/{name}-settings"
    try:
        data = json.loads(text)
    except ValueError as error:
        raise errors.Unavailable(f"{place}: {SETTINGS_FILE} is no JSON: {error}") from error
    data["install"] = {**data.get("install", {}), "name": name, "namespace": namespace}
    settings = config.parse(data, place)
    registered = await pages.every(client, kinds.MUTATING)
    ours = registration.find(registered, name)
    if not ours or ours[0].configuration != name:
        return None
    supplements = Supplements(LiveCluster(client))
    await supplements.look(settings)
    missing = supplements.missing(settings)
    if missing:
        raise errors.Unavailable(missing)
    applied = supplements.applied(settings)
    policy = compile_policy(applied, supplements.objects, supplements.world(applied))
    beside = tuple(registration.find(registered, name, sandboxes.name(settings)))
    known = outages.parse((obj.get("status") or {}).get("outages"))
    return Standard(policy, ours[0], beside, known)
