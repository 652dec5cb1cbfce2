"""What decisions follow from besides the settings file: a file of associations, a mapping in a ConfigMap, the
IdentityPolicies of the cluster, and the API server's version.

Each is looked at every few seconds, off the way of pods. What cannot be read stays as it was, and is told;
one broken entry is left out and told, and takes nothing else with it. Until everything that is asked for has
been read once, the process is not ready: a pod would be let through without its identity.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from vestibule import errors
from vestibule.api import gvk
from vestibule.api.settings import azwi, schema
from vestibule.api.settings.eks import MappedRole, PodIdentityAssociation
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.kube.ports import ObjectLister
from vestibule.kube.sandbox_sources import SandboxSources

logger = logging.getLogger(__name__)


class _AssociationsFile(msgspec.Struct):
    identities: list[PodIdentityAssociation] = []


class PolicySources:
    """Reads, remembers, and lays over the settings."""

    def __init__(self, cluster: ObjectLister) -> None:
        self._cluster = cluster
        self._associations: tuple[PodIdentityAssociation, ...] = ()
        self._mapping: dict[str, MappedRole] = {}
        self._version = ""
        self.objects: tuple[Mapping[str, Any], ...] = ()
        """The IdentityPolicies of the cluster."""
        self._sandboxes = SandboxSources(cluster)
        self.problems: dict[str, str] = {}
        """What could not be read or used, by where it stands."""
        self._read: set[str] = set()
        self._told: dict[str, str] = {}

    def missing(self, settings: schema.Settings) -> str:
        """What has not been read once; empty when everything has."""
        unread = self._wanted(settings) - self._read - {"version"}
        return "" if not unread else f"{', '.join(sorted(unread))} not read yet{self._why()}"

    def applied(self, settings: schema.Settings) -> schema.Settings:
        """The settings with what was read laid over them."""
        eks = settings.eks
        agent = msgspec.structs.replace(
            eks.container_credentials,
            identities=(*eks.container_credentials.identities, *self._associations),
        )
        eks = msgspec.structs.replace(
            eks, container_credentials=agent, mapping={**self._mapping, **eks.mapping}
        )
        version = settings.azwi.kubernetes_version or self._version
        return msgspec.structs.replace(
            settings, eks=eks, azwi=msgspec.structs.replace(settings.azwi, kubernetes_version=version)
        )

    async def look(self, settings: schema.Settings) -> bool:
        """Look at everything once; whether something changed. Never raises for what stands there."""
        before = self._state()
        wanted = self._wanted(settings)
        self.problems = {}
        if "containerCredentials.file" in wanted:
            self._look_at_file(Path(settings.eks.container_credentials.file))
        for what, look in (
            ("mappingConfigMap", self._look_at_mapping),
            ("identityPolicies", self._look_at_policies),
            ("version", self._look_at_version),
            ("sandbox", self._look_at_sandbox),
        ):
            if what in wanted:
                try:
                    await look(settings)
                    self._read.add(what)
                except (errors.Unavailable, errors.Forbidden) as error:
                    self.problems[what] = str(error)
        self._tell()
        return before != self._state()

    def _state(self) -> tuple[object, ...]:
        return (self._associations, self._mapping, self._version, self.objects, self._sandboxes.state())

    def kata_policy(self, settings: schema.Settings) -> SandboxPolicy | None:
        """What is said about sandboxes; objects that cannot be used are left out and told."""
        return self._sandboxes.kata_policy(settings, self.problems) if settings.sandbox.enabled else None

    @staticmethod
    def _wanted(settings: schema.Settings) -> set[str]:
        wanted = set()
        if "eks" in settings.vocabularies:
            if settings.eks.container_credentials.file:
                wanted.add("containerCredentials.file")
            if settings.eks.mapping_config_map:
                wanted.add("mappingConfigMap")
        if settings.identity_policies:
            wanted.add("identityPolicies")
        if settings.sandbox.enabled:
            wanted.add("sandbox")
        if "azwi" in settings.vocabularies and not settings.azwi.kubernetes_version:
            wanted.add("version")
        return wanted

    def _look_at_file(self, path: Path) -> None:
        """No file means no associations; a broken one changes nothing."""
        self._read.add("containerCredentials.file")
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            text = b""
        except OSError as error:
            self.problems[str(path)] = f"cannot be read: {error.strerror}"
            return
        try:
            found = msgspec.json.decode(text, type=_AssociationsFile) if text.strip() else _AssociationsFile()
        except msgspec.MsgspecError as error:
            self.problems[str(path)] = f"the last good one stays in use: {error}"
            return
        self._associations = tuple(found.identities)

    async def _look_at_mapping(self, settings: schema.Settings) -> None:
        namespace, _, name = settings.eks.mapping_config_map.partition("/")
        found = await self._cluster.fetch(gvk.CONFIG_MAP, namespace, name)
        text = ((found or {}).get("data") or {}).get("config") or "{}"
        place = f"ConfigMap {namespace}/{name}"
        try:
            entries = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        except msgspec.MsgspecError as error:
            self.problems[place] = f"data.config: the last good one stays in use: {error}"
            return
        mapping: dict[str, MappedRole] = {}
        for key, raw in entries.items():
            try:
                if key.count("/") != 1:
                    raise msgspec.ValidationError("want NAMESPACE/NAME as the key")
                mapping[key] = msgspec.json.decode(raw, type=MappedRole)
            except msgspec.MsgspecError as error:
                self.problems[f"{place}: data.config: {key}"] = f"left out: {error}"
        self._mapping = mapping

    async def _look_at_policies(self, settings: schema.Settings) -> None:
        del settings
        self.objects = tuple(await self._cluster.listing(gvk.IDENTITY_POLICY))

    async def _look_at_sandbox(self, settings: schema.Settings) -> None:
        del settings
        await self._sandboxes.look()

    async def _look_at_version(self, settings: schema.Settings) -> None:
        del settings
        if not self._version:
            version = await self._cluster.version()
            self._version = version if azwi.version(version) else ""

    def _tell(self) -> None:
        for place, text in self.problems.items():
            if self._told.get(place) != text:
                logger.warning("cannot be used", extra={"place": place, "problem": text})
        self._told = dict(self.problems)

    def _why(self) -> str:
        return (
            f" ({'; '.join(f'{place}: {text}' for place, text in self.problems.items())})"
            if self.problems
            else ""
        )
