"""``vestibule broker``: Secrets of requests that bring their own identity."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from vestibule import errors
from vestibule.cli.broker import command

REQUEST = """apiVersion: cloudcredential.openshift.io/v1
kind: CredentialsRequest
metadata: {{name: {name}}}
spec:
  serviceAccountNames: [sa]
  secretRef: {{name: {name}-secret, namespace: ns}}
  providerSpec:
    kind: AzureProviderSpec
{fields}
"""
WHOLE = "    azureClientID: c\n    azureTenantID: t\n    azureRegion: r\n    azureSubscriptionID: s"


def run(folder: Path) -> Result:
    arguments = ["--cloud", "azure", "-f", str(folder), "--issuer", "https://i", "-o", "json"]
    return CliRunner().invoke(command, arguments)


def test_whole_identities_become_secrets_and_silent_ones_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(REQUEST.format(name="whole", fields=WHOLE))
    (tmp_path / "b.yaml").write_text(REQUEST.format(name="silent", fields="    permissions: [a/read]"))

    result = run(tmp_path)

    assert result.exit_code == 0
    assert [one["metadata"]["name"] for one in json.loads(result.stdout)] == ["whole-secret"]
    assert "silent names no identity of its own" in result.stderr


def test_half_an_identity_is_an_error_with_file_and_line_and_nothing_is_printed(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(REQUEST.format(name="whole", fields=WHOLE))
    (tmp_path / "b.yaml").write_text(REQUEST.format(name="half", fields="    azureClientID: c"))

    result = run(tmp_path)

    assert isinstance(result.exception, errors.InvalidInput)
    assert "b.yaml:1" in str(result.exception)
    assert "azureTenantID" in str(result.exception)
    assert result.stdout == ""
