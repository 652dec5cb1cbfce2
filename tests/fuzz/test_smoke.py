"""A minute of fuzzing over all targets, with a fresh seed in every run; and that a fault would be noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import one, run
from tests.fuzz.targets import BROKEN

pytestmark = pytest.mark.slow


def fuzz(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=280, check=False
    )


def test_a_minute_finds_nothing() -> None:
    done = fuzz("tests.fuzz.run", "--seconds", "54", "--jobs", "1")  # and a second of start for each target
    print(done.stdout)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "fuzz: seed " in done.stdout


@pytest.mark.parametrize("engine", sorted({run.engine(), "own"}))
def test_a_fault_is_found_said_and_kept_for_replay(tmp_path: Path, engine: str) -> None:
    """The target of this test fails for one word that a mutation puts in soon."""
    arguments = ["tests.fuzz.one", BROKEN, "--engine", engine, "--seconds", "60", "--seed", "5"]
    done = fuzz(*arguments, "--found", str(tmp_path))

    assert done.returncode == one.FAULT, done.stdout + done.stderr
    assert "AssertionError: the word" in done.stderr
    stored = next(path for path in tmp_path.iterdir() if path.is_file())
    assert str(stored) in done.stderr
    again = fuzz("tests.fuzz.one", BROKEN, str(stored), "--found", str(tmp_path))
    assert again.returncode == one.FAULT


def test_an_unknown_target_is_refused_by_name() -> None:
    done = fuzz("tests.fuzz.run", "nonsense")

    assert done.returncode == 2
    assert "no target nonsense, want some of http, review" in done.stderr
