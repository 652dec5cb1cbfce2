"""The core manager of Cluster API: Clusters, MachinePools, and who owns whom.

Its webhooks listen, as it wants, and do nothing: no configuration registers them.
"""

from __future__ import annotations

import concurrent.futures
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.rig import definitions
from tests.rig.client import at, healthy
from tests.rig.controlplane import MASTERS, ControlPlane
from tests.rig.part import Part
from tests.rig.pki import Pair

_MODULE, _BASES = "sigs.k8s.io/cluster-api", "config/crd/bases"
DEFINITIONS = tuple(
    (_MODULE, f"{_BASES}/{name}.yaml")
    for name in (
        "addons.cluster.x-k8s.io_clusterresourcesetbindings",
        "addons.cluster.x-k8s.io_clusterresourcesets",
        "cluster.x-k8s.io_clusterclasses",
        "cluster.x-k8s.io_clusters",
        "cluster.x-k8s.io_machinedeployments",
        "cluster.x-k8s.io_machinedrainrules",
        "cluster.x-k8s.io_machinehealthchecks",
        "cluster.x-k8s.io_machinepools",
        "cluster.x-k8s.io_machines",
        "cluster.x-k8s.io_machinesets",
        "ipam.cluster.x-k8s.io_ipaddressclaims",
        "ipam.cluster.x-k8s.io_ipaddresses",
        "runtime.cluster.x-k8s.io_extensionconfigs",
    )
)


class ClusterApi(Part):
    """Ready when its own /readyz says so."""

    name = "cluster-api"
    port_count = 3

    def __init__(
        self, binary: Path, folder: Path, pair: Pair, *, kubeconfig: Callable[[], Path], **options: Any
    ) -> None:
        super().__init__(binary, folder, **options)
        self._certificates = folder / "cluster-api"
        self._certificates.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copy(pair.cert, self._certificates / "tls.crt")
        shutil.copy(pair.key, self._certificates / "tls.key")
        self._kubeconfig = kubeconfig

    def command(self) -> list[str]:
        webhooks, health, metrics = self.ports
        return [
            "env",
            "POD_NAMESPACE=default",
            str(self.binary),
            f"--kubeconfig={self._kubeconfig()}",
            "--leader-elect=false",
            f"--webhook-port={webhooks}",
            f"--webhook-cert-dir={self._certificates}",
            f"--health-addr=127.0.0.1:{health}",
            f"--diagnostics-address=127.0.0.1:{metrics}",
            "--insecure-diagnostics=true",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ]

    def ready(self) -> bool:
        return healthy(f"http://127.0.0.1:{self.ports[1]}", "/readyz", None)


def install(plane: ControlPlane) -> None:
    """Its definitions, several at once: each is a long text."""

    def one(source: tuple[str, str]) -> None:
        definitions.install(plane, source)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(one, DEFINITIONS))


def beside(plane: ControlPlane, binary: Path) -> ClusterApi:
    """A manager for a plane, not started."""
    pair = plane.authority.server("cluster-api")
    return ClusterApi(
        binary, plane.folder, pair, kubeconfig=lambda: plane.kubeconfig("rig:cluster-api", MASTERS)
    )


def path_of(namespace: str, name: str) -> str:
    """Of a Cluster."""
    return at("clusters", namespace, name, api="cluster.x-k8s.io/v1beta2")
