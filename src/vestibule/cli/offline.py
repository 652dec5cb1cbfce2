"""What the offline commands share: from the options to files, cluster and policy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from vestibule.cli import options

if TYPE_CHECKING:
    from vestibule.apps.offline.documents import File
    from vestibule.apps.offline.inject import Injected
    from vestibule.apps.offline.overlay import Readable
    from vestibule.core.mutation.policy import Policy


class Read(NamedTuple):
    """Everything a decision needs."""

    files: list[File]
    cluster: Readable | None
    policy: Policy


class Asked(NamedTuple):
    """What ``options.manifests``, ``options.settings`` and ``options.cwii`` take."""

    files: tuple[str, ...]
    cluster: Path | None
    kubeconfig: Path | None
    context: str | None
    namespace: str
    settings_file: Path | None
    over: dict[str, Any]
    """What command line and environment say over the settings file."""


def asked(
    *,
    files: tuple[str, ...],
    cluster: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str,
    settings_file: Path | None,
    mode: str | None,
    **cwii: Any,
) -> Asked:
    """The options of a command, together."""
    over = options.overrides(mode, cwii)
    return Asked(files, cluster, kubeconfig, context, namespace, settings_file, over)


def read(given: Asked) -> Read:
    """Read the files, the settings and what stands beside them; raises InvalidInput with all problems."""
    from vestibule.adapters import settingsfile
    from vestibule.adapters.cluster.manifests import DirectoryCluster
    from vestibule.apps.offline import beside, documents
    from vestibule.cli import live

    settings = settingsfile.load(given.settings_file, given.over)
    world: DirectoryCluster | Any = None
    if given.cluster is not None:
        world = DirectoryCluster(given.cluster)
        world.load()
    elif given.kubeconfig is not None or given.context is not None:
        world = live.cluster(given.kubeconfig, given.context)
    files = documents.read(given.files, sys.stdin.buffer)
    unused = beside.unused(settings, world)
    if unused:
        click.echo(f"warning: {unused}", err=True)
    return Read(files, world, beside.policy(settings, world, files))


def decided(given: Asked) -> Injected:
    """Read the files, decide every pod; raises InvalidInput with all that is wrong."""
    from vestibule.apps.offline import inject

    found = read(given)
    return inject.run(found.files, found.cluster, found.policy, given.namespace)
