"""A fault at every single call of ``create-all`` and ``delete``; then the same command again; the same end.

Calls are counted in an undisturbed run. Each is then, in a run of its own: refused; done, and the answer
lost; throttled. One worker at a time, so that the number of a call means the same call in every run.
"""

from __future__ import annotations

import functools
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.azure.simulator import Simulated
from tests.azure.world import Stage
from vestibule import errors

FAULTS: dict[str, dict[str, Any]] = {
    "refused": {"status": 403, "code": "Injected"},
    "done, and the line cut": {"mode": "after", "cut": True},
    "done, and answered 503": {"mode": "after", "status": 503, "retry_after": 1},
    "throttled": {"status": 429, "retry_after": 1},
}


Fresh = Callable[[], AbstractContextManager[Stage]]


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fresh:
    """Fresh simulators, one for each trial."""
    numbers = itertools.count()

    @contextmanager
    def made() -> Iterator[Stage]:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        with Simulated(folder / "simulator") as simulator:
            simulator.environ(monkeypatch)
            yield Stage(folder, simulator)

    return made


def calls(stage: Stage) -> int:
    """Calls of ARM and of the data so far; logins are not counted, they are the SDK's own."""
    return sum(
        "/oauth2/" not in call["path"] and "openid" not in call["path"] for call in stage.simulator.calls
    )


def attempt(do: Callable[[], object]) -> str:
    try:
        do()
    except errors.VestibuleError as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_at_every_call_then_a_rerun_and_a_delete(kind: str, fresh: Fresh) -> None:
    with fresh() as clean:
        clean.create(parallel=1)
        count = sum(call["path"].startswith(("/subscriptions", "/demo1")) for call in clean.simulator.calls)
        made, files = clean.left(), clean.files()
        clean.delete(parallel=1)
        rest = clean.left()
    assert count > 20

    for number in range(count) if kind != "throttled" else range(0, count, 4):
        with fresh() as stage:
            # /subscriptions… and /demo1…, not the login
            stage.simulator.fault(on="* /[sd][ue]*", skip=number, **FAULTS[kind])
            said = attempt(functools.partial(stage.create, parallel=1))
            assert said == "" or "goes on from there" in said or "Injected" in said, said
            stage.create(parallel=1)

            assert stage.left() == made, f"call {number} {kind}: {said}"
            assert stage.files() == files, f"call {number} {kind}: {said}"
            assert stage.simulator.violations == []
            if number % 6 == 0:
                stage.delete(parallel=1)
                assert stage.left() == rest


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["refused", "done, and the line cut"])
def test_a_fault_at_every_call_of_delete_then_a_rerun(kind: str, fresh: Fresh) -> None:
    with fresh() as clean:
        clean.create()
        clean.simulator.forget()
        clean.delete(parallel=1)
        count, rest = calls(clean), clean.left()
    assert count > 8

    for number in range(count):
        with fresh() as stage:
            stage.create()
            stage.simulator.forget()
            stage.simulator.fault(on="* /subscriptions*", skip=number, **FAULTS[kind])
            attempt(functools.partial(stage.delete, parallel=1))
            stage.delete(parallel=1)

            assert stage.left() == rest, f"call {number} {kind}"


@pytest.mark.slow
def test_killed_at_every_write_and_run_again(fresh: Fresh) -> None:
    """SIGKILL, while a write hangs in the cloud: nothing half-written on disk, and a rerun ends the same."""
    with fresh() as clean:
        clean.create(parallel=1)
        made, files = clean.left(), clean.files()
        writes = len(clean.simulator.writes())
    assert writes > 9

    for number in range(0, writes, 2):
        with fresh() as stage:
            hang = stage.simulator.fault(on="PUT /subscriptions*", skip=number, delay=60.0, mode="after")
            process = subprocess.Popen(_command(stage), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _until(lambda hang=hang: hang.hits > 0, process)  # type: ignore[misc]
            os.kill(process.pid, signal.SIGKILL)
            process.wait(10)
            stage.simulator.running.simulator.faults.rules.clear()

            stage.create(parallel=1)

            assert (stage.left(), stage.files()) == (made, files), f"killed at write {number}"


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
