"""KataConfigs, OSCWebhookConfigs and RuntimeClasses of a cluster, and initdata that they refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from vestibule import errors
from vestibule.adapters.cluster.ports import Objects
from vestibule.core.kinds import config, gvk, kata
from vestibule.core.mutation.sandbox import validation
from vestibule.core.mutation.sandbox.world import World

T = TypeVar("T")
Json = Mapping[str, Any]


class Sandboxes:
    """Reads and remembers; one broken object is left out and told, and takes nothing else with it."""

    def __init__(self, cluster: Objects) -> None:
        self._cluster = cluster
        self._configs: list[dict[str, Any]] = []
        self._rules: list[dict[str, Any]] = []
        self._classes: list[dict[str, Any]] = []
        self._initdata: dict[kata.Reference, str] = {}

    def state(self) -> tuple[object, ...]:
        """What was read; equal when nothing changed."""
        return (self._configs, self._rules, self._classes, self._initdata)

    async def look(self) -> None:
        """Read everything once; raises as ``Objects`` does, and then nothing has changed."""
        configs = await self._cluster.listing(gvk.KATA_CONFIG)
        rules = await self._cluster.listing(gvk.OSC_WEBHOOK_CONFIG)
        classes = await self._cluster.listing(gvk.RUNTIME_CLASS)
        initdata: dict[kata.Reference, str] = {}
        for obj in configs:
            reference = _reference(_usable(kata.kata_config, obj, {}))
            if reference is not None:
                found = await self._cluster.fetch(gvk.CONFIG_MAP, reference.namespace, reference.name) or {}
                initdata[reference] = str((found.get("data") or {}).get(reference.key, "")).strip()
        self._configs, self._rules, self._classes, self._initdata = configs, rules, classes, initdata

    def world(self, settings: config.Settings, problems: dict[str, str]) -> World:
        """What decides about sandboxes; ``problems`` gets what is left out, and why."""
        configs = [made for obj in self._configs if (made := self._config(obj, problems)) is not None]
        for config_ in configs:
            for wrong in validation.kata_config(config_):
                problems[f"KataConfig {config_.metadata.name}: {wrong.path}"] = wrong.text
        sets = [one for obj in self._rules if (one := _usable(kata.rule_set, obj, problems)) is not None]
        mistakes = validation.rule_sets(sets)
        for name, found in mistakes.items():
            for wrong in found:
                problems[f"OSCWebhookConfig {name}: {wrong.path}"] = f"the object is left out: {wrong.text}"
        classes = [
            known
            for obj in self._classes
            if (known := _usable(kata.runtime_class, obj, problems)) is not None
        ]
        return World(
            configs,
            [one for one in sets if not mistakes[one.metadata.name]],
            classes={known.metadata.name: known for known in classes},
            own_namespace=settings.install.namespace,
            strict=settings.mode == "strict",
        )

    def _config(self, obj: Json, problems: dict[str, str]) -> kata.KataConfig | None:
        """A KataConfig with the initdata that it refers to filled in."""
        found = _usable(kata.kata_config, obj, problems)
        reference = _reference(found)
        if found is None or reference is None or found.spec is None or found.spec.webhook is None:
            return found
        annotations = found.spec.webhook.annotations
        if annotations is None or annotations.initdata is not None:
            return found
        filled = msgspec.structs.replace(annotations, initdata=self._initdata.get(reference, ""))
        webhook = msgspec.structs.replace(found.spec.webhook, annotations=filled)
        return msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, webhook=webhook))


def _reference(found: kata.KataConfig | None) -> kata.Reference | None:
    webhook = found.spec.webhook if found and found.spec else None
    return webhook.annotations.initdata_from if webhook and webhook.annotations else None


def _usable(read: Callable[[Json], T], obj: Json, problems: dict[str, str]) -> T | None:
    try:
        return read(obj)
    except errors.InvalidInput as error:
        for problem in error.problems:
            problems[f"{problem.place}: {problem.field}"] = f"left out: {problem.text}"
        return None
