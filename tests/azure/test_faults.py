"""A fault at every single call of ``create-all`` and ``delete``, and SIGKILL at every write; the same end."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.azure import scenario
from tests.azure.provisioning_run import Stage
from tests.azure.scenario import FAULTS, Fresh, attempt, calls


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "step"), [("refused", 1), ("throttled", 4)])
def test_a_fault_at_every_call_then_a_rerun_and_a_delete(kind: str, step: int, fresh: Fresh) -> None:
    scenario.at_every_call(kind, fresh, step)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["refused", "done, and the line cut"])
def test_a_fault_at_every_call_of_delete_then_a_rerun(kind: str, fresh: Fresh, tmp_path: Path) -> None:
    with fresh() as clean:
        clean.create()
        created, files = clean.simulator.state, tmp_path / "made"
        shutil.copytree(clean.out, files)
        clean.simulator.forget()
        clean.delete(parallel=1)
        count, rest = calls(clean), clean.left()
    assert count > 8

    for number in range(count):
        with fresh() as stage:
            stage.simulator.renew(**created)
            shutil.copytree(files, stage.out)
            stage.simulator.fault(on="* /subscriptions*", skip=number, **FAULTS[kind])
            attempt(functools.partial(stage.delete, parallel=1))
            stage.delete(parallel=1)

            assert stage.left() == rest, f"call {number} {kind}"


@pytest.mark.slow
def test_killed_at_every_write_and_run_again(fresh: Fresh) -> None:
    """SIGKILL, while a write hangs in the cloud: nothing half-written on disk, and a rerun ends the same."""
    with fresh() as clean:
        clean.create(parallel=1)
        created, files = clean.left(), clean.files()
        writes = len(clean.simulator.writes())
    assert writes > 9

    for number in range(writes):
        with fresh() as stage:
            hang = stage.simulator.fault(on="PUT /subscriptions*", skip=number, delay=60.0, mode="after")
            process = subprocess.Popen(_command(stage), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _until(lambda hang=hang: hang.hits > 0, process)  # type: ignore[misc]
            os.kill(process.pid, signal.SIGKILL)
            process.wait(10)
            stage.simulator.running.simulator.faults.rules.clear()

            stage.create(parallel=1)

            assert (stage.left(), stage.files()) == (created, files), f"killed at write {number}"


def _command(stage: Stage) -> list[str]:
    settings = stage.simulator.settings
    return [
        sys.executable, "-m", "vestibule", "azure", "create-all", "--name", "demo1", "--region", "eastus",
        "--subscription-id", settings.subscription, "--tenant-id", settings.tenant,
        "--credentials-requests-dir", str(stage.requests_dir), "--public-key-file", str(stage.key),
        "--output-dir", str(stage.out), "--cloud", str(stage.simulator.running.cloud), "--parallel", "1",
    ]  # fmt: skip


def _until(true: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert process.poll() is None, "ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
