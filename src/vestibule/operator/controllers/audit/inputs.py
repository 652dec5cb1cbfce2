"""What an audit is held against: the settings that the webhook runs with, the policies beside them, and how
the API server calls it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from vestibule import errors
from vestibule.api import downtime, gvk
from vestibule.api.downtime import Outage
from vestibule.api.settings import schema
from vestibule.checks import webhook_configuration
from vestibule.checks.pod_report import PodEntry
from vestibule.checks.webhook_configuration import WebhookEntry
from vestibule.diagnose.audit.pod_scan import PodScan
from vestibule.injection.policy import Policy, compile_policy
from vestibule.kube import lister
from vestibule.kube.client import Client
from vestibule.kube.live_cluster import LiveCluster
from vestibule.kube.policy_sources import PolicySources
from vestibule.manifests import kinds, sandbox_webhooks
from vestibule.manifests.workload import SETTINGS_FILE

Object = dict[str, Any]


class AuditInputs(NamedTuple):
    """All of it."""

    policy: Policy
    registration: WebhookEntry
    sandboxes: tuple[WebhookEntry, ...]
    outages: tuple[Outage, ...]

    def census(
        self, client: Client, now: datetime.datetime, found: Callable[[PodEntry], None] | None = None
    ) -> PodScan:
        """A census by it."""
        return PodScan(
            client,
            self.policy,
            self.registration,
            now,
            sandboxes=self.sandboxes,
            outages=self.outages,
            found=found,
        )


async def standard(client: Client, obj: Object, namespace: str) -> AuditInputs | None:
    """None while the webhook is not installed. Raises Unavailable, Forbidden, InvalidSettings."""
    name = str(obj["metadata"]["name"])
    stored = await lister.one(client, gvk.CONFIG_MAP, namespace, f"{name}-settings")
    text = ((stored or {}).get("data") or {}).get(SETTINGS_FILE)
    if text is None:
        return None
    place = f"ConfigMap {namespace}/{name}-settings"
    try:
        data = json.loads(text)
    except ValueError as error:
        raise errors.Unavailable(f"{place}: {SETTINGS_FILE} is no JSON: {error}") from error
    data["install"] = {**data.get("install", {}), "name": name, "namespace": namespace}
    settings = schema.parse(data, place)
    registered = await lister.every(client, kinds.MUTATING)
    ours = webhook_configuration.find(registered, name)
    if not ours or ours[0].configuration != name:
        return None
    supplements = PolicySources(LiveCluster(client))
    await supplements.look(settings)
    missing = supplements.missing(settings)
    if missing:
        raise errors.Unavailable(missing)
    applied = supplements.applied(settings)
    policy = compile_policy(applied, supplements.objects, supplements.kata_policy(applied))
    beside = tuple(webhook_configuration.find(registered, name, sandbox_webhooks.name(settings)))
    known = downtime.parse((obj.get("status") or {}).get("outages"))
    return AuditInputs(policy, ours[0], beside, known)
