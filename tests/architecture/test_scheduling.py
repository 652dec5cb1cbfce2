"""The order of modules, from a real collection without a cache."""

from __future__ import annotations

import functools
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("tests/unit", "tests/aro", "tests/apiserver", "tests/image")


@functools.cache
def collected(*words: str) -> list[str]:
    """The modules that pytest would run, in their order."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *words, *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    lines = [line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line]
    return [module for module, _ in groupby(lines)]


def test_a_module_stays_whole_and_what_waits_comes_first() -> None:
    modules = collected()

    assert len(modules) == len(set(modules))
    waiting = [place for place, module in enumerate(modules) if "pytest.mark.waits" in _text(module)]
    assert waiting
    assert waiting == list(range(len(waiting)))


def test_modules_of_one_group_follow_each_other_and_long_ones_come_before_short_ones() -> None:
    modules = collected()

    folders = [folder for folder, _ in groupby(module.split("/")[1] for module in modules)]
    assert folders.count("aro") == 1
    assert folders[-1] == "unit"
    assert modules.index("tests/aro/test_crashes.py") < modules.index("tests/apiserver/test_trust.py")


def test_the_fast_group_has_no_module_of_the_rig() -> None:
    assert {module.split("/")[1] for module in collected("-m", "not rig and not slow")} == {"unit"}


@pytest.mark.parametrize("name", ["rig", "slow", "waits"])
def test_every_mark_is_used(name: str) -> None:
    assert any(f"mark.{name}" in path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))


def _text(module: str) -> str:
    return (ROOT / module).read_text()
