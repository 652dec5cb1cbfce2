"""Requests, and commands through the command line."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from tests.gcp.double import PROJECT, Double
from vestibule.cli.gcp import command

REQUEST = """apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata:
  name: {name}
spec:
  serviceAccountNames: [{accounts}]
  secretRef: {{name: {secret}, namespace: ns1}}
  providerSpec:
    kind: GCPProviderSpec
{rights}
"""
ROLES = "    predefinedRoles: [roles/storage.admin, roles/iam.serviceAccountUser]"
PERMISSIONS = "    permissions: [compute.disks.get, compute.disks.list]"
REQUESTS = {
    "a": REQUEST.format(name="registry-gcs", secret="secret1", accounts="sa-one, sa-two", rights=ROLES),
    "b": REQUEST.format(name="machine-api-gcp", secret="secret2", accounts="sa-three", rights=PERMISSIONS),
    "c": REQUEST.format(name="x-aws", secret="s", accounts="sa", rights="").replace("GCP", "AWS"),
}
ISSUER = "https://storage.googleapis.com/demo1-oidc"
REGISTRY, MACHINES = "demo1-registry-gcs", "demo1-machine-api-gcp"
ROLE = "myproject1_machineapigcp"


def run(double: Double, tmp: Path, verb: str, *arguments: object) -> Result:
    """A command, on the double."""
    endpoints = double.endpoints_file(tmp / "endpoints.json")
    given = [verb, "--name", "demo1", "--project", PROJECT, "--endpoints", endpoints, *arguments]
    return CliRunner().invoke(command, [*map(str, given)], catch_exceptions=True)


def create_all(double: Double, tmp: Path, requests: Path, key: Path, *more: object) -> Result:
    return run(
        double, tmp, "create-all", "--credentials-requests-dir", requests, "--output-dir", tmp / "out",
        "--public-key-file", key, "--no-verify", *more,
    )  # fmt: skip


def ended(result: Result) -> Result:
    """The result of a command that went well."""
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result
