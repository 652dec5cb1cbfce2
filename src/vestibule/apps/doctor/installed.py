"""The settings that the webhook in the cluster runs with, and what stands beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from vestibule import errors
from vestibule.adapters.cluster import pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.live import LiveCluster
from vestibule.adapters.cluster.supplements import Supplements
from vestibule.core.doctor import check
from vestibule.core.doctor.check import Check
from vestibule.core.doctor.registration import Registration
from vestibule.core.kinds import config, gvk, upstream
from vestibule.core.kinds.config import Settings
from vestibule.core.mutation.policy import Policy, compile_policy
from vestibule.core.native.workload import SETTINGS_FILE

_ID = "webhook.settings"
_GIVE = "give the webhook's own with --settings FILE"


class Found(NamedTuple):
    """The settings in force, and what is to be said about them."""

    settings: Settings
    check: Check


async def settings(client: Client, found: Registration | None, over: Mapping[str, Any]) -> Found:
    """What the Deployment behind the registration mounts as its settings, with ``over`` laid over it."""
    usual = config.parse(over, "settings")
    target = found.hook.get("clientConfig", {}).get("service") if found else None
    name = str(target["name"]) if target else (found.configuration if found else usual.install.name)
    namespace = str(target["namespace"]) if target else usual.install.namespace
    try:
        deployment = await pages.one(client, gvk.DEPLOYMENT, namespace, name)
        config_map = _mounted(deployment or {}) or f"{name}-settings"
        place = f"ConfigMap {namespace}/{config_map}"
        stored = await pages.one(client, gvk.CONFIG_MAP, namespace, config_map)
    except (errors.Forbidden, errors.Unavailable) as error:
        why = f"not read ({error}); the usual ones are taken"
        return Found(usual, check.skipped(_ID, f"Deployment {namespace}/{name}", why, _GIVE))
    text = ((stored or {}).get("data") or {}).get(SETTINGS_FILE)
    if text is None:
        about = f"there is no {place} with {SETTINGS_FILE}; the usual settings are taken"
        return Found(usual, check.skipped(_ID, place, about, _GIVE))
    try:
        parsed = config.parse(upstream.merged(json.loads(text), over), place)
    except ValueError as error:
        wrong = check.fail(_ID, place, f"{SETTINGS_FILE} is no JSON: {error}", "a settings file")
        return Found(usual, wrong)
    except errors.InvalidSettings as error:
        wrong = check.fail(
            _ID, place, "; ".join(map(str, error.problems)), "good settings", "mend the ConfigMap"
        )
        return Found(usual, wrong)
    return Found(
        parsed, check.ok(_ID, place, f"mode {parsed.mode}, vocabularies {', '.join(parsed.vocabularies)}")
    )


def _mounted(deployment: Mapping[str, Any]) -> str:
    """Name of the ConfigMap that the Deployment mounts as its settings; empty when there is none."""
    pod = (((deployment.get("spec") or {}).get("template") or {}).get("spec")) or {}
    for volume in pod.get("volumes") or ():
        if volume.get("name") == "settings" and volume.get("configMap"):
            return str(volume["configMap"].get("name") or "")
    return ""


async def policy(client: Client, chosen: Settings) -> tuple[Policy, list[Check]]:
    """The policy that the webhook has, with mappings, associations and IdentityPolicies as they are now."""
    supplements = Supplements(LiveCluster(client))
    await supplements.look(chosen)
    made = compile_policy(supplements.applied(chosen), supplements.objects)
    checks = [
        check.warn(
            "webhook.supplements",
            place,
            text,
            "something that can be used",
            "mend it, or allow it to be read",
        )
        for place, text in supplements.problems.items()
    ]
    checks += [
        check.warn(
            "webhook.supplements", problem.place, f"{problem.field}: {problem.text}", "a policy that counts"
        )
        for problem in made.broken
    ]
    return made, checks
