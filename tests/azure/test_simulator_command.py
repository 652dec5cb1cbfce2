"""``vestibule simulate azure`` as a user runs it: a process, its files, its end."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

VESTIBULE = [sys.executable, "-c", "from vestibule.cli.main import main; main()"]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any], Path]]:
    """A process that has said where it is."""
    folder = tmp_path / "sim"
    command = [*VESTIBULE, "simulate", "azure", "--dir", str(folder), "-o", "json"]
    command += ["--state", str(tmp_path / "state.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            message = ""
            for line in process.stdout:
                message += line
                if line == "}\n":
                    break
            yield process, json.loads(message), folder
        finally:
            process.kill()


def shell(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """A shell that has sourced the file."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AZURE_")}
    return subprocess.run(
        ["sh", "-c", f". {folder}/env.sh; {script}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**clean, "PY": sys.executable},
    )


def test_the_worked_example_of_its_help_works(
    running: tuple[subprocess.Popen[str], dict[str, Any], Path], tmp_path: Path
) -> None:
    process, message, folder = running
    (tmp_path / "requests").mkdir()
    done = shell(
        folder,
        f"""
        "$PY" -c 'from vestibule.cli.main import main; main()' azure create-all --cloud {folder}/cloud.json \\
          --name demo1 --region eastus \\
          --subscription-id $AZURE_SUBSCRIPTION_ID --tenant-id $AZURE_TENANT_ID \\
          --credentials-requests-dir {tmp_path}/requests --output-dir {tmp_path}/out
        """,
    )
    process.send_signal(signal.SIGTERM)

    assert done.returncode == 0, done.stderr
    assert process.wait(30) == 0
    assert message["cloudFile"] == str(folder / "cloud.json")
    assert stat.S_IMODE((folder / "env.sh").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "server.key").stat().st_mode) == 0o600
    stored = json.loads((tmp_path / "state.json").read_text())
    assert [one["name"] for one in stored["resources"] if one["type"].endswith("storageAccounts")] == [
        "demo1"
    ]
    assert "demo1/demo1/openid/v1/jwks" in stored["blobs"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--addr", "0.0.0.0:0"], "other machines can reach"),
        (["--addr", "x"], "want HOST:PORT"),
        (["--subscription-id", "x"], "want a GUID"),
        (["--faults", "/nonexistent"], "No such file"),
    ],
    ids=["open", "no port", "no guid", "no file"],
)
def test_what_cannot_be_served_is_refused(tmp_path: Path, arguments: list[str], words: str) -> None:
    command = [*VESTIBULE, "simulate", "azure", "--dir", str(tmp_path), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, words in done.stderr) == (2, True), done.stderr
