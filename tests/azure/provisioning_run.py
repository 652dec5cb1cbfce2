"""``create-all`` and ``delete`` against the simulator: requests in files, and what is left afterwards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.azure.simulator import Simulated
from vestibule.pki import signer
from vestibule.provision import credentials_requests
from vestibule.provision.azure import commands
from vestibule.provision.azure.names import AzureNames
from vestibule.provision.azure.request import AzureRequest
from vestibule.provision.flow import ProvisionReport
from vestibule.provision.runner import RunOptions

NAMES = AzureNames("demo1", "demo1-oidc", "demo1", "demo1", "demo1")
ISSUER = "https://demo1.blob.core.windows.net/demo1"
REQUEST = """apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata:
  name: cr{number}
spec:
  serviceAccountNames: [sa-one, sa-two]
  secretRef: {{name: secret{number}, namespace: ns1}}
  providerSpec:
    kind: AzureProviderSpec
{roles}
"""
ROLES = (
    "    roleBindings:\n    - role: Contributor",
    "    permissions:\n    - Microsoft.Compute/disks/read\n"
    "    dataPermissions:\n    - Microsoft.Storage/x/read",
)
_TIMES = re.compile(r"time|date|created|etag|key", re.IGNORECASE)
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|127\.0\.0\.1:\d+")
"""What is drawn anew in each run: ids, and the simulator's port."""


class Stage:
    """Files of one run, and the simulator it runs against."""

    def __init__(self, folder: Path, simulator: Simulated, requests: int = 2) -> None:
        self.simulator, self.out = simulator, folder / "out"
        self.requests_dir = folder / "requests"
        self.requests_dir.mkdir()
        for number in range(requests):
            text = REQUEST.format(number=number, roles=ROLES[number % 2])
            (self.requests_dir / f"{number:03}.yaml").write_text(text)
        self.key = folder / "pub.pem"
        self.key.write_text(_PUBLIC)
        self.waited: list[float] = []

    def wanted(self, **more: Any) -> AzureRequest:
        found = credentials_requests.load(self.requests_dir, "azure").requests
        settings = self.simulator.settings
        created = AzureRequest(
            NAMES,
            "eastus",
            settings.subscription,
            settings.tenant,
            self.simulator.cloud,
            {},
            ISSUER,
            requests=found,
        )
        return created._replace(**more)

    def how(self, **more: Any) -> RunOptions:
        return RunOptions(self.out, pause=self._pause, **more)

    def _pause(self, seconds: float) -> None:
        """Nobody waits; the cloud's clock goes ahead instead."""
        self.waited.append(seconds)
        self.simulator.pass_time(seconds)

    def create(self, **more: Any) -> ProvisionReport:
        return commands.everything(self.wanted(), self.key, self.how(**more))

    def delete(self, *, entire_group: bool = False, **more: Any) -> ProvisionReport:
        subscription = self.simulator.settings.subscription
        return commands.delete(
            NAMES, self.simulator.cloud, subscription, self.how(**more), entire_group=entire_group
        )

    def left(self) -> list[Any]:
        """What exists, without what is drawn or timed."""
        return sorted(map(str, map(_plain, self.simulator.state["resources"])))

    def files(self) -> dict[str, str]:
        """What was written, by name; ids evened out."""
        return {
            str(path.relative_to(self.out)): _GUID.sub("GUID", path.read_text())
            for path in sorted(self.out.rglob("*"))
            if path.is_file() and ".vestibule" not in path.parts
        }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if not _TIMES.search(key)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return _GUID.sub("GUID", value) if isinstance(value, str) else value


_PUBLIC = signer.new(2048).public
