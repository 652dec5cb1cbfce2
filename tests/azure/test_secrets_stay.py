"""Private keys, passwords and tokens are in the files that are meant to hold them, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.azure.provisioning_run import Stage
from tests.azure.simulator import Simulated


@pytest.mark.parametrize("broken", [False, True], ids=["a good run", "a run that fails"])
def test_nothing_secret_is_printed_or_recorded(tmp_path: Path, simulator: Simulated, broken: bool) -> None:
    stage = Stage(tmp_path, simulator)
    if broken:
        simulator.fault(on="PUT */federatedIdentityCredentials/*", times=0, status=403, code="Injected")
    settings = simulator.settings

    done = subprocess.run(
        [
            sys.executable, "-m", "vestibule", "azure", "create-all", "--name", "demo1", "--region", "eastus",
            "--subscription-id", settings.subscription, "--tenant-id", settings.tenant,
            "--credentials-requests-dir", str(stage.requests_dir), "--output-dir", str(stage.out),
            "--cloud", str(simulator.running.cloud), "-o", "json",
        ],
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "AZURE_LOG_LEVEL": "debug"},
    )  # fmt: skip

    assert (done.returncode == 0) is not broken, done.stderr
    private = (stage.out / "serviceaccount-signer.private").read_text()
    secrets = private.splitlines()[-6:-2]  # the first lines hold the modulus, which is public
    secrets += [settings.client_secret, "Bearer ey", "eyJ"]
    places = {"output": done.stdout + done.stderr}
    for path in stage.out.rglob("*"):
        if path.is_file() and path.suffix not in (".private", ".key"):
            places[path.name] = path.read_text()
    assert ".vestibule" in {part for path in stage.out.rglob("*") for part in path.parts}
    assert {
        (place, secret) for place, text in places.items() for secret in secrets if secret in text
    } == set()
