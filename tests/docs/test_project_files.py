"""Files for contributors: the workflow, templates and hooks parse and name what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
YAML = [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_every_file_is_yaml(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


def test_the_workflow_runs_commands_that_exist() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]

    assert "bash .ci/run" in runs
    assert {run.removeprefix("make ") for run in runs if run.startswith("make ")} <= TARGETS
    assert max(job["timeout-minutes"] for job in jobs.values()) <= 90


def test_owners_are_teams_and_their_paths_exist() -> None:
    lines = (ROOT / ".github" / "CODEOWNERS").read_text().splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            pattern, *owners = line.split()
            assert pattern == "*" or (ROOT / pattern.strip("/")).exists(), pattern
            assert all(re.fullmatch(r"@[a-z]+/[a-z]+", owner) for owner in owners), line


def test_hooks_call_files_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    scripts = [word for hook in hooks for word in hook["entry"].split() if word.startswith("scripts/")]

    assert scripts
    assert [one for one in scripts if not (ROOT / one).exists()] == []
