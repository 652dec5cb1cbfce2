"""The settings that the webhook in the cluster runs with, and what stands beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

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
from vestibule.core.kinds.gvk import Kind
from vestibule.core.migrate import container, flags, installation
from vestibule.core.migrate.installation import Cluster
from vestibule.core.mutation.policy import Policy, compile_policy
from vestibule.core.native.workload import SETTINGS_FILE

_SERVICE: Final = Kind("", "v1", "Service", "services")
_ID = "webhook.settings"
_GIVE = "give the webhook's own with --settings FILE"


class Found(NamedTuple):
    """The settings in force, and what is to be said about them."""

    settings: Settings
    check: Check


async def settings(client: Client, found: Registration | None, over: Mapping[str, Any]) -> Found:
    """What the Deployment behind the registration runs with, with ``over`` laid over it: its settings file,
    or its flags where it stands in for another program."""
    usual = config.parse(over, "settings")
    target = found.hook.get("clientConfig", {}).get("service") if found else None
    name = str(target["name"]) if target else (found.configuration if found else usual.install.name)
    namespace = str(target["namespace"]) if target else usual.install.namespace
    try:
        deployment = await _behind(client, namespace, name)
        place, data = await _read(client, namespace, name, deployment)
    except (errors.Forbidden, errors.Unavailable) as error:
        why = f"not read ({error}); the usual ones are taken"
        return Found(usual, check.skipped(_ID, f"Deployment {namespace}/{name}", why, _GIVE))
    if data is None:
        why = f"there is no {place}; the usual settings are taken"
        return Found(usual, check.skipped(_ID, place, why, _GIVE))
    try:
        parsed = config.parse(upstream.merged(data, over), place)
    except errors.InvalidSettings as error:
        text = "; ".join(map(str, error.problems))
        return Found(usual, check.fail(_ID, place, text, "good settings", "mend them"))
    shown = f"mode {parsed.mode}, vocabularies {', '.join(parsed.vocabularies)}"
    return Found(parsed, check.ok(_ID, place, shown))


async def _behind(client: Client, namespace: str, name: str) -> Mapping[str, Any] | None:
    """The Deployment that the Service leads to, or the one of its name."""
    service = await pages.one(client, _SERVICE, namespace, name)
    listed = await pages.every(client, gvk.DEPLOYMENT, namespace)
    cluster = Cluster([*listed, *([{**service, "kind": "Service"}] if service else [])])
    return installation.behind(cluster, namespace, name) or cluster.get("Deployment", namespace, name)


async def _read(
    client: Client, namespace: str, name: str, deployment: Mapping[str, Any] | None
) -> tuple[str, Any]:
    """Where the settings stand, and their data; None when they are not there."""
    pod = (((deployment or {}).get("spec") or {}).get("template") or {}).get("spec") or {}
    program = installation.answering(deployment) if deployment else None
    maps: dict[str, Mapping[str, str]] = {}
    for wanted in dict.fromkeys((*container.config_map_names(pod), f"{name}-settings")):
        stored = await pages.one(client, gvk.CONFIG_MAP, namespace, wanted)
        if stored is not None:
            maps[wanted] = stored.get("data") or {}
    if deployment is not None and program is not None:
        started = container.started(program, maps.get)
        data = flags.stand_in(started.arguments, started.environment)
        if data is not None:
            return f"Deployment {namespace}/{deployment['metadata']['name']}", data
    mounted: Mapping[str, Any] = next(
        (volume["configMap"] for volume in pod.get("volumes") or () if _is_settings(volume)), {}
    )
    chosen = str(mounted.get("name") or f"{name}-settings")
    place = f"ConfigMap {namespace}/{chosen}"
    text = maps.get(chosen, {}).get(SETTINGS_FILE)
    try:
        return place, None if text is None else json.loads(text)
    except ValueError as error:
        raise errors.Unavailable(f"{place}: {SETTINGS_FILE} is no JSON: {error}") from error


def _is_settings(volume: Mapping[str, Any]) -> bool:
    return volume.get("name") == "settings" and bool(volume.get("configMap"))


async def policy(client: Client, chosen: Settings, *, sandboxes: bool = False) -> tuple[Policy, list[Check]]:
    """The policy that the webhook has, with mappings, associations and IdentityPolicies as they are now, and
    where it is asked for with what is said about sandboxes."""
    supplements = Supplements(LiveCluster(client))
    await supplements.look(chosen)
    settings = supplements.applied(chosen)
    world = supplements.world(settings) if sandboxes else None
    made = compile_policy(settings, supplements.objects, world)
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
