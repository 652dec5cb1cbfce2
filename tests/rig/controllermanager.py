"""kube-controller-manager: ServiceAccounts, ReplicaSets, Jobs, garbage collection, namespaces that go.

With its default client limits (20 calls a second) it needs 5 s to become useful; raised, half a second. Each
controller acts as its own ServiceAccount: with one shared user the root CA is never published.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.rig.client import Client, at
from tests.rig.part import Part
from tests.rig.pki import Authority, Pair


class ControllerManager(Part):
    """Ready when it has made the ServiceAccount ``default/default``: without that no pod can be created."""

    name = "kube-controller-manager"
    port_count = 0

    def __init__(
        self,
        binary: Path,
        folder: Path,
        authority: Authority,
        token_key: Pair,
        *,
        kubeconfig: Callable[[], Path],
        admin: Callable[[], Client],
        **options: Any,
    ) -> None:
        super().__init__(binary, folder, **options)
        self._ca, self._token_key, self._kubeconfig, self._admin = authority.ca, token_key, kubeconfig, admin

    def command(self) -> list[str]:
        return [
            str(self.binary),
            f"--kubeconfig={self._kubeconfig()}",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self._token_key.key}",
            f"--root-ca-file={self._ca}",
            "--secure-port=0",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
            "--controllers=*,-node-ipam-controller,-cloud-node-lifecycle-controller",
        ]

    def ready(self) -> bool:
        try:
            return self._admin().get(at("serviceaccounts", "default", "default")).status == 200
        except (OSError, http.client.HTTPException):
            return False
