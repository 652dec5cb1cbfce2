"""From objects to the report: what is installed, what it means here, what to do, and what pods would get."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api.settings import schema
from vestibule.api.settings.schema import Settings
from vestibule.compat import cwii_flags
from vestibule.diagnose.migrate import accounts, compare, installation, pod_diff, steps, translate
from vestibule.diagnose.migrate.compare import ComparedWebhook, WorkloadComparison
from vestibule.diagnose.migrate.installation import ForeignInstallation
from vestibule.diagnose.migrate.pod_diff import ChangeGroup
from vestibule.diagnose.migrate.sources import LiveSource, ManifestSource, WorkloadSource
from vestibule.diagnose.migrate.translate import Data, TranslatedSettings
from vestibule.diagnose.offline.manifest_files import ManifestFile
from vestibule.injection.policy import compile_policy
from vestibule.kube.client import Client
from vestibule.kube.policy_sources import PolicySources
from vestibule.manifests import install, webhook_configurations

Progress = Callable[[str], None]
_STEP: Final = 200
"""Workloads between two progress messages."""


class FoundInstallation(NamedTuple):
    """One installation, and what follows from it."""

    installation: ForeignInstallation
    meaning: TranslatedSettings
    drop_in: list[str]
    left: list[str]


class MigrationReport(NamedTuple):
    """The result of vestibule migrate."""

    found: list[FoundInstallation]
    settings: Data
    """A settings file for all of it, in ``strict``; empty when nothing was found that uses it."""
    notes: list[str]
    steps: list[str]
    accounts: dict[str, int]
    seen: int
    compared: list[WorkloadComparison]
    strict: list[ChangeGroup]
    better: list[ChangeGroup]
    unread: list[str]

    @property
    def refused(self) -> list[WorkloadComparison]:
        """Workloads whose pods are admitted today and would not be."""
        return [one for one in self.compared if one.refused]


class MigrationOptions(NamedTuple):
    """Options of the command besides the source."""

    provider: str = ""
    """The full name of Google's provider, for accounts with GKE's key."""
    examples: int = 3


def manifests(
    files: Sequence[ManifestFile], namespace: str, options: MigrationOptions, progress: Progress
) -> MigrationReport:
    """The report about files. Raises InvalidInput with all that is wrong with them."""
    return asyncio.run(_report(ManifestSource(files, namespace), options, progress))


def live(client: Client, namespace: str, options: MigrationOptions, progress: Progress) -> MigrationReport:
    """The report about a cluster; the client is closed. Raises Forbidden, Unavailable."""
    return asyncio.run(_live(client, namespace, options, progress))


async def _live(
    client: Client, namespace: str, options: MigrationOptions, progress: Progress
) -> MigrationReport:
    source = LiveSource(client, namespace)
    try:
        progress("listing namespaces and accounts")
        await source.fill()
        return await _report(source, options, progress)
    finally:
        await client.close()


async def _report(source: WorkloadSource, options: MigrationOptions, progress: Progress) -> MigrationReport:
    cluster = await source.installed()
    found = [
        FoundInstallation(one, translated, steps.drop_in(one, translated), steps.left(one, cluster))
        for one in installation.find(cluster)
        for translated in [translate.of(one, cluster)]
    ]
    notes: list[str] = []
    data = translate.together([one.meaning for one in found], notes)
    counts = accounts.counted(source.accounts(), _parsed(data, "strict"))
    used = [*counts] if found else [*dict.fromkeys((*counts, *await _on_workloads(source)))]
    data = _with_dialects(data, used, counts, options, notes)
    if not data:
        return MigrationReport(found, {}, notes, [], counts, 0, [], [], [], source.unseen)
    settings = {mode: _parsed(data, mode) for mode in ("strict", "better")}
    if len(data["vocabularies"]) > 1:
        notes.append(
            "several dialects share one webhook: in strict, the layout is that of each upstream webhook, and "
            "lookups and responses are those of vestibule"
        )
    sides = {mode: await _side(one, source) for mode, one in settings.items()}
    today = [
        ComparedWebhook(
            one.installation.hook, (await _side(_parsed(one.meaning.data, "strict"), source)).policy
        )
        for one in found
    ] or [sides["strict"]]
    compared, seen, unread = await _compared(source, today, sides["strict"], sides["better"], progress)
    shown = {"mode": "strict", **install.changed_settings(settings["strict"])}
    return MigrationReport(
        found,
        shown,
        notes,
        steps.side_by_side([one.installation for one in found]),
        counts,
        seen,
        compared,
        pod_diff.grouped([(one.name, one.strict) for one in compared], options.examples),
        pod_diff.grouped([(one.name, one.better) for one in compared], options.examples),
        [*source.unseen, *unread],
    )


def _parsed(data: Mapping[str, Any], mode: str) -> Settings:
    return schema.parse({**data, "mode": mode}, "the settings that follow from what is installed")


async def _on_workloads(source: WorkloadSource) -> list[str]:
    """Dialects that pods and their owners use; ServiceAccounts are counted elsewhere."""
    starts = accounts.prefixes(Settings())
    found: dict[str, None] = {}
    async for template in source.templates():
        for obj in (template.pod, *template.companions):
            meta = obj["metadata"]
            keys = {**(meta.get("annotations") or {}), **(meta.get("labels") or {})}
            found |= dict.fromkeys(accounts.begins(keys, starts))
    return [name for name in found if name != "gke"]  # its key counts on accounts alone


def _with_dialects(
    data: Data, used: Sequence[str], counts: Mapping[str, int], options: MigrationOptions, notes: list[str]
) -> Data:
    """What is used besides what is installed; GKE's key has no webhook, and needs a provider here."""
    installed = list(data.get("vocabularies", ()))
    listed = installed or [name for name in used if name != "gke"]
    if counts.get("gke"):
        if options.provider:
            listed.append("gke")
            data = cwii_flags.merged(data, {"wif": {"provider": options.provider}})
        else:
            notes.append(
                f"{counts['gke']} ServiceAccounts have GKE's key: give --gcp-provider to serve them here; "
                "on GKE itself the metadata server does"
            )
    if installed:
        unserved = [name for name in used if name not in listed and name != "gke"]
        notes += [
            f"{counts[name]} ServiceAccounts have keys of {name}, whose webhook is not installed"
            for name in unserved
        ]
    return {**data, "vocabularies": listed} if listed else {}


async def _side(settings: Settings, source: WorkloadSource) -> ComparedWebhook:
    sources = PolicySources(source.objects)
    await sources.look(settings)
    (hook,) = webhook_configurations.webhook_configuration(settings)["webhooks"]
    return ComparedWebhook(hook, compile_policy(sources.applied(settings), sources.objects))


async def _compared(
    source: WorkloadSource,
    today: Sequence[ComparedWebhook],
    strict: ComparedWebhook,
    better: ComparedWebhook,
    progress: Progress,
) -> tuple[list[WorkloadComparison], int, list[str]]:
    compared: list[WorkloadComparison] = []
    unread: list[str] = []
    seen = 0
    async for template in source.templates():
        seen += 1
        try:
            one = await compare.compare(template, source, today, strict, better)
        except (errors.Unavailable, errors.Forbidden, errors.InvalidInput) as error:
            unread.append(f"{template}: {error}")
            continue
        if one is not None:
            compared.append(one)
        if seen % _STEP == 0:
            progress(f"{seen} workloads compared")
    return compared, seen, unread
