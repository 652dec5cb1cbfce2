"""The settings and policy sources that the webhook in the cluster runs with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.api.settings import schema
from vestibule.api.settings.schema import Settings
from vestibule.checks import check
from vestibule.checks.check import Check
from vestibule.checks.webhook_configuration import WebhookEntry
from vestibule.compat import cwii_flags
from vestibule.diagnose.migrate import container, flags, installation
from vestibule.diagnose.migrate.installation import InstallationObjects
from vestibule.injection.policy import Policy, compile_policy
from vestibule.kube import lister
from vestibule.kube.client import Client
from vestibule.kube.live_cluster import LiveCluster
from vestibule.kube.policy_sources import PolicySources
from vestibule.manifests.workload import SETTINGS_FILE

_SERVICE: Final = Kind("", "v1", "Service", "services")
_ID = "webhook.settings"
_GIVE = "give the webhook's own with --settings FILE"


class InstalledSettings(NamedTuple):
    """The effective settings and the check about them."""

    settings: Settings
    check: Check


async def settings(client: Client, found: WebhookEntry | None, over: Mapping[str, Any]) -> InstalledSettings:
    """The settings of the Deployment behind the webhook configuration, overridden by ``over``: its settings
    file, or its flags where it replaces an upstream webhook."""
    usual = schema.parse(over, "settings")
    target = found.hook.get("clientConfig", {}).get("service") if found else None
    name = str(target["name"]) if target else (found.configuration if found else usual.install.name)
    namespace = str(target["namespace"]) if target else usual.install.namespace
    try:
        deployment = await _behind(client, namespace, name)
        place, data = await _read(client, namespace, name, deployment)
    except (errors.Forbidden, errors.Unavailable) as error:
        why = f"not read ({error}); defaults are used"
        return InstalledSettings(usual, check.skipped(_ID, f"Deployment {namespace}/{name}", why, _GIVE))
    if data is None:
        why = f"there is no {place}; defaults are used"
        return InstalledSettings(usual, check.skipped(_ID, place, why, _GIVE))
    try:
        parsed = schema.parse(cwii_flags.merged(data, over), place)
    except errors.InvalidSettings as error:
        text = "; ".join(map(str, error.problems))
        return InstalledSettings(usual, check.fail(_ID, place, text, "valid settings", "fix them"))
    shown = f"mode {parsed.mode}, dialects {', '.join(parsed.vocabularies)}"
    return InstalledSettings(parsed, check.ok(_ID, place, shown))


async def _behind(client: Client, namespace: str, name: str) -> Mapping[str, Any] | None:
    """The Deployment that the Service leads to, or the one of its name."""
    service = await lister.one(client, _SERVICE, namespace, name)
    listed = await lister.every(client, gvk.DEPLOYMENT, namespace)
    cluster = InstallationObjects([*listed, *([{**service, "kind": "Service"}] if service else [])])
    return installation.behind(cluster, namespace, name) or cluster.get("Deployment", namespace, name)


async def _read(
    client: Client, namespace: str, name: str, deployment: Mapping[str, Any] | None
) -> tuple[str, Any]:
    """The place of the settings and their data; None if there are none."""
    pod = (((deployment or {}).get("spec") or {}).get("template") or {}).get("spec") or {}
    program = installation.answering(deployment) if deployment else None
    maps: dict[str, Mapping[str, str]] = {}
    for config_map in dict.fromkeys((*container.config_map_names(pod), f"{name}-settings")):
        stored = await lister.one(client, gvk.CONFIG_MAP, namespace, config_map)
        if stored is not None:
            maps[config_map] = stored.get("data") or {}
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
        raise errors.Unavailable(f"{place}: {SETTINGS_FILE} is not JSON: {error}") from error


def _is_settings(volume: Mapping[str, Any]) -> bool:
    return volume.get("name") == "settings" and bool(volume.get("configMap"))


async def policy(client: Client, chosen: Settings, *, sandboxes: bool = False) -> tuple[Policy, list[Check]]:
    """The webhook's policy with the current mappings, associations and IdentityPolicies, and on request the
    sandbox policy."""
    sources = PolicySources(LiveCluster(client))
    await sources.look(chosen)
    settings = sources.applied(chosen)
    kata_policy = sources.kata_policy(settings) if sandboxes else None
    compiled = compile_policy(settings, sources.objects, kata_policy)
    checks = [
        check.warn(
            "webhook.supplements",
            place,
            text,
            "a readable and valid source",
            "fix it, or permit the webhook to read it",
        )
        for place, text in sources.problems.items()
    ]
    checks += [
        check.warn("webhook.supplements", problem.place, f"{problem.field}: {problem.text}", "a valid policy")
        for problem in compiled.broken
    ]
    return compiled, checks
