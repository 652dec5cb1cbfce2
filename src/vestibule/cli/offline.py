"""What ``inject`` and ``explain`` share: from the options to the decided files."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vestibule.apps.offline.inject import Injected
    from vestibule.apps.offline.overlay import Readable


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
    from vestibule.adapters import settingsfile
    from vestibule.adapters.cluster.manifests import DirectoryCluster
    from vestibule.apps.offline import documents, inject
    from vestibule.cli import live
    from vestibule.core.mutation.policy import compile_policy

    policy = compile_policy(settingsfile.load(settings_file, over))
    world: Readable | None = None
    if cluster is not None:
        directory = DirectoryCluster(cluster)
        directory.load()
        world = directory
    elif kubeconfig is not None or context is not None:
        world = live.cluster(kubeconfig, context)
    files = documents.read(sources, sys.stdin.buffer)
    return inject.run(files, world, policy, namespace)
