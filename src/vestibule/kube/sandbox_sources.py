"""KataConfigs, OSCWebhookConfigs and RuntimeClasses of a cluster, and initdata that they refer to.

They are several calls, and an administrator may write between two of them: what changed is read again until
it stands still, so that the policy is one that the cluster really had at some moment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from vestibule import errors
from vestibule.api import gvk, kata
from vestibule.api.settings import schema
from vestibule.injection.sandbox import validation
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.kube.ports import ObjectLister

T = TypeVar("T")
Json = Mapping[str, Any]
_ATTEMPTS: Final = 8
"""Times that what changed is read, at most; a read takes some milliseconds, and the next look is near."""


class _SandboxSnapshot(NamedTuple):
    """What stood there."""

    configs: list[dict[str, Any]]
    rules: list[dict[str, Any]]
    classes: list[dict[str, Any]]
    initdata: dict[kata.InitdataReference, str]
    unread: dict[kata.InitdataReference, str]
    """ConfigMaps that we may not read, and why."""


class SandboxSources:
    """Reads and remembers; one broken object is left out and told, and takes nothing else with it."""

    def __init__(self, cluster: ObjectLister) -> None:
        self._cluster = cluster
        self._found = _SandboxSnapshot([], [], [], {}, {})

    def state(self) -> tuple[object, ...]:
        """What was read; equal when nothing changed."""
        return self._found

    async def look(self) -> None:
        """Read everything, and what changed until it stands still; raises as ``ObjectLister`` does, or
        Unavailable when it does not stand still, and then nothing has changed. Initdata that we may not read
        hits the pods that need it, and nobody else."""
        found = await self._read()
        for _ in range(_ATTEMPTS):
            if found == self._found:
                return
            again = await self._read()
            if again == found:
                self._found = found
                return
            found = again
        raise errors.Unavailable(f"changed each of {_ATTEMPTS} times that it was read: left as it was")

    async def _read(self) -> _SandboxSnapshot:
        configs = await self._cluster.listing(gvk.KATA_CONFIG)
        rules = await self._cluster.listing(gvk.OSC_WEBHOOK_CONFIG)
        classes = await self._cluster.listing(gvk.RUNTIME_CLASS)
        initdata: dict[kata.InitdataReference, str] = {}
        unread: dict[kata.InitdataReference, str] = {}
        for obj in configs:
            made = _usable(kata.kata_config, obj, {})
            reference = kata.initdata_reference(made) if made else None
            if reference is not None:
                try:
                    found = await self._cluster.fetch(gvk.CONFIG_MAP, reference.namespace, reference.name)
                except errors.Forbidden as error:
                    found, unread[reference] = None, str(error)
                initdata[reference] = str(((found or {}).get("data") or {}).get(reference.key, "")).strip()
        return _SandboxSnapshot(configs, rules, classes, initdata, unread)

    def kata_policy(self, settings: schema.Settings, problems: dict[str, str]) -> SandboxPolicy:
        """What decides about sandboxes; ``problems`` gets what is left out, and why."""
        configs = [made for obj in self._found.configs if (made := self._config(obj, problems)) is not None]
        for config_ in configs:
            for wrong in validation.kata_config(config_):
                problems[f"KataConfig {config_.metadata.name}: {wrong.path}"] = wrong.text
        for reference, why in self._found.unread.items():
            place = f"ConfigMap {reference.namespace}/{reference.name}"
            problems[place] = f"{why}; 'vestibule render' prints the right for the KataConfigs that it sees"
        sets = [
            one for obj in self._found.rules if (one := _usable(kata.rule_set, obj, problems)) is not None
        ]
        mistakes = validation.rule_sets(sets)
        for name, found in mistakes.items():
            for wrong in found:
                problems[f"OSCWebhookConfig {name}: {wrong.path}"] = f"the object is left out: {wrong.text}"
        judged = [validation.unclear(obj) for obj in self._found.configs]
        unclear = [broken for broken in judged if broken is not None]
        for broken in unclear:
            text = "pods of namespaces that it may enforce are refused until it is repaired"
            problems[f"KataConfig {broken.name}: spec.webhook"] = f"{text}: {'; '.join(broken.problems)}"
        classes = [
            known
            for obj in self._found.classes
            if (known := _usable(kata.runtime_class, obj, problems)) is not None
        ]
        return SandboxPolicy(
            configs,
            [one for one in sets if not mistakes[one.metadata.name]],
            classes={known.metadata.name: known for known in classes},
            own_namespace=settings.install.namespace,
            strict=settings.mode == "strict",
            unclear=unclear,
        )

    def _config(self, obj: Json, problems: dict[str, str]) -> kata.KataConfig | None:
        """A KataConfig with the initdata that it refers to filled in."""
        found = _usable(kata.kata_config, obj, problems)
        reference = kata.initdata_reference(found) if found else None
        if found is None or reference is None or found.spec is None or found.spec.webhook is None:
            return found
        annotations = found.spec.webhook.annotations
        if annotations is None or annotations.initdata is not None:
            return found
        filled = msgspec.structs.replace(annotations, initdata=self._found.initdata.get(reference, ""))
        webhook = msgspec.structs.replace(found.spec.webhook, annotations=filled)
        return msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, webhook=webhook))


def _usable(read: Callable[[Json], T], obj: Json, problems: dict[str, str]) -> T | None:
    try:
        return read(obj)
    except errors.InvalidInput as error:
        for problem in error.problems:
            problems[f"{problem.place}: {problem.field}"] = f"left out: {problem.text}"
        return None
