"""What the offline commands share: from the options to files, cluster and policy."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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


def read(
    sources: Sequence[str],
    cluster: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    settings_file: Path | None,
    over: Mapping[str, Any],
) -> Read:
    """Read the files, the settings and what stands beside them; raises InvalidInput with all problems."""
    from vestibule.adapters import settingsfile
    from vestibule.adapters.cluster.manifests import DirectoryCluster
    from vestibule.apps.offline import beside, documents
    from vestibule.cli import live

    settings = settingsfile.load(settings_file, over)
    world: DirectoryCluster | Any = None
    if cluster is not None:
        world = DirectoryCluster(cluster)
        world.load()
    elif kubeconfig is not None or context is not None:
        world = live.cluster(kubeconfig, context)
    files = documents.read(sources, sys.stdin.buffer)
    return Read(files, world, beside.policy(settings, world, files))


def decided(
    sources: Sequence[str],
    cluster: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str,
    settings_file: Path | None,
    over: Mapping[str, Any],
) -> Injected:
    """Read the files, decide every pod; raises InvalidInput with all that is wrong."""
    from vestibule.apps.offline import inject

    found = read(sources, cluster, kubeconfig, context, settings_file, over)
    return inject.run(found.files, found.cluster, found.policy, namespace)
