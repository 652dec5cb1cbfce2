"""kube-scheduler: binds pods to nodes; only for tests whose pods must run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.rig.client import healthy
from tests.rig.part import Part
from tests.rig.pki import Authority


class Scheduler(Part):
    """Ready when its own /readyz says so."""

    name = "kube-scheduler"

    def __init__(
        self,
        binary: Path,
        folder: Path,
        authority: Authority,
        *,
        kubeconfig: Callable[[], Path],
        **options: Any,
    ) -> None:
        super().__init__(binary, folder, **options)
        self._kubeconfig = kubeconfig
        self._serving = authority.server("scheduler")
        self._probe = authority.trusting()

    def command(self) -> list[str]:
        return [
            str(self.binary),
            f"--kubeconfig={self._kubeconfig()}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._serving.cert}",
            f"--tls-private-key-file={self._serving.key}",
            "--profiling=false",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ]

    def ready(self) -> bool:
        return healthy(f"https://127.0.0.1:{self.port}", "/readyz", self._probe)
