"""The whole chain: key pair → kube-apiserver → published issuer → managed identity → projected token → access
token, with the real API server, the real azure-identity and the simulated Azure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import WorkloadIdentityCredential
from click.testing import CliRunner

from tests.azure.simulator import Simulated
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from vestibule.cli.azure import command

ISSUER = "https://demo1.blob.core.windows.net/demo1"
REQUEST = """apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata:
  name: cr1
spec:
  serviceAccountNames: [sa-one]
  secretRef: {name: secret1, namespace: ns1}
  providerSpec:
    kind: AzureProviderSpec
    roleBindings:
    - role: Reader
"""


@pytest.fixture
def simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulated]:
    with Simulated(tmp_path / "simulator") as created:
        created.environ(monkeypatch)
        yield created


@pytest.fixture
def made(tmp_path: Path, simulator: Simulated) -> Path:
    """The output of ``create-all``, with a key pair of its own."""
    requests = tmp_path / "requests"
    requests.mkdir()
    (requests / "a.yaml").write_text(REQUEST)
    out = tmp_path / "out"
    settings = simulator.settings
    result = CliRunner().invoke(
        command,
        [
            "create-all", "--name", "demo1", "--region", "eastus", "--subscription-id", settings.subscription,
            "--tenant-id", settings.tenant, "--credentials-requests-dir", str(requests),
            "--output-dir", str(out), "--cloud", str(simulator.running.cloud),
        ],
    )  # fmt: skip
    assert result.exit_code == 0, result.output + repr(result.exception)
    return out


def test_a_pods_token_is_worth_an_access_token(
    made: Path,
    simulator: Simulated,
    tmp_path: Path,
    private_control_plane: Callable[..., ControlPlane],
) -> None:
    authentication = yaml.safe_load((made / "manifests/cluster-authentication-02-config.yaml").read_text())
    plane = private_control_plane(
        controllers=False,
        flags={
            "service-account-issuer": authentication["spec"]["serviceAccountIssuer"],
            "service-account-signing-key-file": str(made / "tls/bound-service-account-signing-key.key"),
            "service-account-key-file": str(made / "serviceaccount-signer.public"),
            "service-account-jwks-uri": f"{ISSUER}/openid/v1/jwks",
            "api-audiences": "rig",
        },
    )
    secret = yaml.safe_load((made / "manifests/ns1-secret1-credentials.yaml").read_text())["stringData"]
    plane.admin.create(at("namespaces"), {"metadata": {"name": "ns1"}}).object  # noqa: B018 - raises when refused

    good = _token(plane, "sa-one", "openshift")
    stranger = _token(plane, "sa-two", "openshift")
    elsewhere = _token(plane, "sa-one", "another")

    assert _login(simulator, tmp_path, secret, good).startswith("ey")
    for token, why in ((stranger, "AADSTS700213"), (elsewhere, "AADSTS700212")):
        with pytest.raises(ClientAuthenticationError, match=why):
            _login(simulator, tmp_path, secret, token)


def _token(plane: ControlPlane, account: str, audience: str) -> str:
    plane.admin.apply(
        at("serviceaccounts", "ns1", account),
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": "ns1"},
        },
    )
    requested = {"spec": {"audiences": [audience], "expirationSeconds": 3600}}
    created = plane.admin.create(at("serviceaccounts", "ns1", account, "token"), requested).object
    return str(created["status"]["token"])


def _login(simulator: Simulated, folder: Path, secret: dict[str, Any], token: str) -> str:
    """As a component does: by what its Secret says, and nothing else but the token in its file."""
    file = folder / "token"
    file.write_text(token)
    credential = WorkloadIdentityCredential(
        tenant_id=secret["azure_tenant_id"],
        client_id=secret["azure_client_id"],
        token_file_path=str(file),
        authority=simulator.base,
        disable_instance_discovery=True,
        connection_verify=simulator.bundle,
    )
    return credential.get_token(simulator.cloud.scope).token
