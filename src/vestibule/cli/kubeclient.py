"""From ``--kubeconfig`` and ``--context``, or the pod we run in, to a live cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from vestibule.cli import options

if TYPE_CHECKING:
    from vestibule.kube.access import ClusterAccess
    from vestibule.kube.client import Client
    from vestibule.kube.live_cluster import LiveCluster


def access(kubeconfig: Path | None, context: str | None) -> ClusterAccess:
    """How to reach the cluster: the file given, the pod's own account, or the usual kubeconfig."""
    from vestibule.kube import access as accesses
    from vestibule.kube import kubeconfig as kubeconfigs

    if kubeconfig == options.USUAL:
        kubeconfig = None
    if kubeconfig is None and context is None and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return accesses.in_cluster(os.environ)
    return kubeconfigs.load(kubeconfigs.paths(kubeconfig, os.environ, Path.home()), context)


def client(kubeconfig: Path | None, context: str | None) -> Client:
    """A client for the cluster; raises InvalidSettings when there is no way to it."""
    from vestibule.kube.client import Client as Made

    return Made(access(kubeconfig, context))


def cluster(kubeconfig: Path | None, context: str | None) -> LiveCluster:
    """The live cluster, not yet read."""
    kube = client(kubeconfig, context)
    from vestibule.kube.live_cluster import LiveCluster as Live

    return Live(kube)
