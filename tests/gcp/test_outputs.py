"""Names, files, scripts: what users and installers see of a run."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import subprocess
from pathlib import Path

import google.auth
import pytest
import yaml
from click.testing import CliRunner, Result
from google.auth import identity_pool

from tests.gcp.double import NUMBER, PROJECT, Double
from tests.gcp.stage import ISSUER, MACHINES, REGISTRY, create_all, ended
from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.cli.gcp import command
from vestibule.provision.gcp import names

VECTORS = {
    one["id"]: one
    for one in json.loads((Path(__file__).parents[1] / "vectors" / "ccoctl.json").read_text())["vectors"]
}
GCLOUD = """#!/bin/sh
printf '%s\\n' "$(basename "$0")" "$@" | tr '\\n' '\\t' >> "$LOG"; echo >> "$LOG"
case "$*" in
  *projectNumber*) echo 123456789012 ;;
  *email*) echo sa@example.com ;;
esac
"""


def request(name: str) -> CredentialsRequest:
    return CredentialsRequest(name, "ns1", "s", ("a",), "/token", {})


def test_names_are_those_of_upstream() -> None:
    vector = VECTORS["gcp-01"]
    given = request(vector["inputs"]["credentials_request"])
    name, project = vector["flags"]["--name"], vector["flags"]["--project"]
    expected = vector["expected"]

    assert re.fullmatch(expected["account_id_regex"], names.account(name, given))
    assert names.display(name, given) == expected["display_name"]
    assert names.role(project, given) == expected["custom_role_id"]
    assert names.role_title(project, given) == expected["custom_role_title"]


def test_the_issuer_is_of_the_universe() -> None:
    vector = VECTORS["gcp-02"]
    universes = vector["inputs"]["universe_domains"]

    assert [names.issuer("demo1", one) for one in universes] == vector["expected"]["issuer"]


def test_an_account_id_is_legal_stable_and_of_this_name_and_request_alone() -> None:
    ids = [
        names.account(name, request(one))
        for name, one in (("demo", "1-x"), ("demo-1", "x"), ("n" * 32, "very.long" * 9), ("demo", "1-x"))
    ]

    assert all(re.fullmatch(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", one) for one in ids)
    assert len(set(ids)) == 3
    assert ids[0] == ids[3]


def test_a_secret_is_what_google_auth_logs_in_with(
    double: Double,
    tmp_path: Path,
    requests_dir: Path,
    public_key: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended(create_all(double, tmp_path, requests_dir, public_key))

    file = tmp_path / "out" / "manifests" / "ns1-secret1-credentials.yaml"
    secret = yaml.safe_load(file.read_text())
    text = base64.b64decode(secret["data"]["service_account.json"])
    credentials = identity_pool.Credentials.from_info(json.loads(text))  # type: ignore[no-untyped-call]
    config = tmp_path / "config.json"
    config.write_bytes(text)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(config))
    found, _ = google.auth.default()

    (email,) = [one["email"] for one in double.iam.accounts.values() if one["displayName"] == REGISTRY]
    assert isinstance(found, identity_pool.Credentials)
    assert credentials.service_account_email == email
    pool = f"//iam.googleapis.com/projects/{NUMBER}/locations/global/workloadIdentityPools/demo1"
    assert json.loads(text)["audience"] == f"{pool}/providers/demo1"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    manifest = tmp_path / "out" / "manifests" / "cluster-authentication-02-config.yaml"
    assert yaml.safe_load(manifest.read_text())["spec"] == {"serviceAccountIssuer": ISSUER}


def dry(tmp: Path, requests: Path, key: Path, *more: str) -> Result:
    """Nothing listens where it would call, and there is no login."""
    nowhere = "http://127.0.0.1:9"
    endpoints = tmp / "endpoints.json"
    endpoints.write_text(json.dumps({"iam": nowhere, "projects": nowhere, "storage": nowhere}))
    arguments = [
        "create-all", "--name", "demo1", "--project", PROJECT, "--endpoints", endpoints, "--dry-run",
        "--credentials-requests-dir", requests, "--public-key-file", key, "--output-dir", tmp / "out", *more,
    ]  # fmt: skip
    return CliRunner().invoke(command, [*map(str, arguments)])


def test_a_dry_run_makes_no_call_and_writes_scripts_and_secrets_that_cannot_be_applied(
    tmp_path: Path, requests_dir: Path, public_key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")

    result = ended(dry(tmp_path, requests_dir, public_key))

    out = tmp_path / "out"
    assert sorted(one.name for one in out.iterdir() if one.is_file()) == [
        "01-create-workload-identity-pool.sh",
        "02-create-oidc-bucket.sh",
        "03-openid-configuration",
        "04-keys.json",
        "05-create-workload-identity-provider.sh",
        f"06-0-create-{REGISTRY}-sa.sh",
        f"06-1-create-{MACHINES}-sa.sh",
        f"07-1-create-{MACHINES}-role.sh",
        f"08-0-add-iam-policy-binding-for-{REGISTRY}-sa.sh",
        f"08-1-add-iam-policy-binding-for-{MACHINES}-sa.sh",
        f"09-0-generate-credentials-config-for-{REGISTRY}-sa.sh",
        f"09-1-generate-credentials-config-for-{MACHINES}-sa.sh",
    ]
    assert "create workload identity pool demo1" in result.stdout
    secret = (out / "manifests" / "ns1-secret1-credentials.yaml").read_text()
    assert secret.splitlines()[-1].startswith("POPULATE service_account.json FIELD")
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(secret)


def test_the_scripts_run_and_say_what_create_all_does(
    tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(dry(tmp_path, requests_dir, public_key))
    tools, log = tmp_path / "tools", tmp_path / "log"
    tools.mkdir()
    for name in ("gcloud", "gsutil"):
        (tools / name).write_text(GCLOUD)
        (tools / name).chmod(0o755)

    for script in sorted((tmp_path / "out").glob("*.sh")):
        path = f"{tools}:{os.environ['PATH']}"
        subprocess.run([script], check=True, env={"PATH": path, "LOG": str(log)}, timeout=30)

    message = [line.rstrip("\t").split("\t") for line in log.read_text().splitlines()]
    display = "--description=Created By OpenShift ccoctl"
    assert ["gsutil", "mb", "-b", "on", "-l", "us", "-p", PROJECT, "gs://demo1-oidc"] in message
    assert any("providers" in one and display in one and f"--issuer-uri={ISSUER}" in one for one in message)
    assert any("--permissions=compute.disks.get,compute.disks.list" in one for one in message)
    pool = f"iam.googleapis.com/projects/{NUMBER}/locations/global/workloadIdentityPools/demo1"
    member = f"--member=principal://{pool}/subject/system:serviceaccount:ns1:sa-one"
    assert any(member in one and "sa@example.com" in one for one in message)
    assert any(
        "--member=serviceAccount:sa@example.com" in one and "--condition=None" in one for one in message
    )
    assert any("create-cred-config" in one and "--service-account=sa@example.com" in one for one in message)


def test_a_dry_run_with_keys_in_the_provider_makes_no_bucket(
    tmp_path: Path, requests_dir: Path, public_key: Path
) -> None:
    ended(dry(tmp_path, requests_dir, public_key, "--key-storage-method", "pool-jwk-file"))

    assert not (tmp_path / "out" / "02-create-oidc-bucket.sh").exists()
    script = (tmp_path / "out" / "05-create-workload-identity-provider.sh").read_text()
    assert "--jwk-json-path=04-keys.json" in script


def test_ccoctl_takes_its_command_line() -> None:
    from vestibule.cli.compat.ccoctl import command as ccoctl

    result = CliRunner().invoke(ccoctl, ["gcp", "create-all", "--name", "x"])

    assert (result.exit_code, "--project: is required" in result.stderr) == (1, True)
