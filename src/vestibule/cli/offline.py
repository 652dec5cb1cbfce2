"""What the offline commands share: from the options to files, cluster and policy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from vestibule.cli import options

if TYPE_CHECKING:
    from vestibule.diagnose.offline.inject import InjectionResult
    from vestibule.diagnose.offline.manifest_files import ManifestFile
    from vestibule.diagnose.offline.overlay import ReadableCluster
    from vestibule.injection.policy import Policy


class OfflineInputs(NamedTuple):
    """Everything a decision needs."""

    files: list[ManifestFile]
    cluster: ReadableCluster | None
    policy: Policy


class OfflineOptions(NamedTuple):
    """What ``options.manifests``, ``options.settings`` and ``options.cwii`` take."""

    files: tuple[str, ...]
    cluster: Path | None
    kubeconfig: Path | None
    context: str | None
    namespace: str
    settings_file: Path | None
    over: dict[str, Any]
    """What command line and environment say over the settings file."""


def request(
    *,
    files: tuple[str, ...],
    cluster: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str,
    settings_file: Path | None,
    mode: str | None,
    **cwii: Any,
) -> OfflineOptions:
    """The options of a command, together."""
    over = options.overrides(mode, cwii)
    return OfflineOptions(files, cluster, kubeconfig, context, namespace, settings_file, over)


def read(given: OfflineOptions) -> OfflineInputs:
    """Read the files, the settings and the policy sources; raises InvalidInput with all problems."""
    from vestibule import settingsfile
    from vestibule.cli import kubeclient
    from vestibule.diagnose.offline import manifest_files, policy_loader
    from vestibule.kube.manifest_directory import DirectoryCluster

    settings = settingsfile.load(given.settings_file, given.over)
    kata_policy: DirectoryCluster | Any = None
    if given.cluster is not None:
        kata_policy = DirectoryCluster(given.cluster)
        kata_policy.load()
    elif given.kubeconfig is not None or given.context is not None:
        kata_policy = kubeclient.cluster(given.kubeconfig, given.context)
    files = manifest_files.read(given.files, sys.stdin.buffer)
    unused = policy_loader.unused(settings, kata_policy)
    if unused:
        click.echo(f"warning: {unused}", err=True)
    return OfflineInputs(files, kata_policy, policy_loader.policy(settings, kata_policy, files))


def decided(given: OfflineOptions) -> InjectionResult:
    """Read the files, decide every pod; raises InvalidInput with all that is wrong."""
    from vestibule.diagnose.offline import inject

    found = read(given)
    return inject.run(found.files, found.cluster, found.policy, given.namespace)
