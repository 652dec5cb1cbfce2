"""The operator as a process, and the Azure that it asks about keys."""

from __future__ import annotations

import base64
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.child_process import Running
from tests.aro import manifests
from tests.aro.environment import Cluster, Environment
from tests.azure.simulator import Simulated
from tests.rig import process
from tests.rig.client import at
from vestibule_simulators.azure import vaults

Json = dict[str, Any]
REGISTRATION = at(
    "validatingwebhookconfigurations", name="vestibule-operator-aro", api="admissionregistration.k8s.io/v1"
)
KEY = "etcd-data-kms-encryption-key"


class Azure:
    """The simulated cloud."""

    def __init__(self, simulated: Simulated, environment: Environment) -> None:
        self.simulated, self._stand = simulated, environment

    @property
    def azure_state(self) -> Any:
        return self.simulated.running.simulator.world

    def prepare(self, cluster: Cluster, **spec: Any) -> None:
        """What the identity mode needs: a vault in Azure, an identity and its secret in the cluster."""
        group = {"location": "eastus", "tags": {}, "name": f"{cluster.name}-rg"}
        path = f"{self.simulated.root}/resourceGroups/{cluster.name}-rg"
        kind = "Microsoft.Resources/resourceGroups"
        self.azure_state.put(path, {**group, "id": path, "type": kind, "properties": {}})
        vault = f"{path}/providers/Microsoft.KeyVault/vaults/{cluster.name}-vault"
        body = {"id": vault, "name": f"{cluster.name}-vault", "type": "Microsoft.KeyVault/vaults"}
        self.azure_state.put(vault, {**body, "location": "eastus", "tags": {}, "properties": {}})
        settings = self.simulated.settings
        secret = base64.b64encode(settings.client_secret.encode()).decode()
        meta = {"name": "id1", "namespace": cluster.namespace}
        self._stand.make(
            [
                {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"clientSecret": secret}},
                {
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                    "kind": "AzureClusterIdentity",
                    "metadata": meta,
                    "spec": {
                        "type": "ServicePrincipal",
                        "clientID": settings.client_id,
                        "tenantID": settings.tenant,
                        "clientSecret": {"name": "id1", "namespace": cluster.namespace},
                        "allowedNamespaces": {},
                        **spec,
                    },
                },
            ]
        )

    def rotate(self, cluster: Cluster) -> str:
        """A new version of the key, made in the vault."""
        return vaults.rotate(self.azure_state, f"{cluster.name}-vault", KEY)

    def calls(self, cluster: Cluster) -> list[Json]:
        """What was asked about the vault of a cluster."""
        return [one for one in self.simulated.calls if f"{cluster.name}-vault" in one["path"]]


class Operators:
    """One process at a time."""

    resync = 2.0
    """Seconds: short, so that whoever writes when nothing happens is found out."""

    def __init__(self, environment: Environment, azure: Azure, folder: Path) -> None:
        self._stand, self._azure, self._folder = environment, azure, folder
        self.running: Running | None = None
        self._count = 0

    def ensure(self) -> Running:
        """One runs."""
        if self.running is not None and self.running.process.poll() is None:
            return self.running
        self._count += 1
        port, webhook_port = process.free_port(), process.free_port()
        with pytest.MonkeyPatch.context() as patch:
            self._azure.simulated.environ(patch)
            self.running = Running(
                self._folder / str(self._count),
                *("operator", "--kubeconfig", str(self._stand.kubeconfig), "--namespace", "default"),
                *("--aro", "--allow-loopback", "--azure-cloud", str(self._azure.simulated.running.cloud)),
                *(
                    "--aro-webhook",
                    f"https://127.0.0.1:{webhook_port}",
                    "--aro-webhook-addr",
                    f"127.0.0.1:{webhook_port}",
                ),
                *("--no-leader-elect", "--no-issuers", "--only", "nobody"),
                *("--resync", str(self.resync), "--metrics-addr", f"127.0.0.1:{port}"),
            )
        self.running.port = port
        process.wait("the operator to answer", self._answers, 30)
        process.wait("its registration to count", self._asked, 30)
        return self.running

    def _asked(self) -> bool:
        """Whether the API server asks it: an object that no rule allows is refused by it."""
        wrong = {
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
            "kind": "AROControlPlane",
            "metadata": {"name": "probe", "namespace": "default"},
            "spec": {"resources": []},
        }
        path = manifests.path("AROControlPlane", "default")
        answer = self._stand.admin.create(path, wrong, dryRun="All")
        return answer.status == 422 and b"aro.vestibule.dev" in answer.body

    def _answers(self) -> bool:
        assert self.running is not None
        assert self.running.process.poll() is None, self.running.log.read_text()
        try:
            return self.running.get("/readyz")[0] == 200
        except OSError:
            return False

    def stop(self, how: int = signal.SIGTERM) -> None:
        """None runs."""
        if self.running is not None:
            self.running.end(how)
            self.running = None
            # nobody answers any more, and what is not answered is refused
            self._stand.admin.delete(REGISTRATION)

    def log(self) -> str:
        assert self.running is not None
        return self.running.log.read_text()
