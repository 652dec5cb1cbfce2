"""Programs that use the clouds' SDKs, each run in a process of its own: a fork of one that has them imported
(``forks.py``), or a new interpreter where the program would notice the difference."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

FORKS = Path(__file__).with_name("forks.py")
SECONDS = 60
"""After which a program is ended."""


class Done(NamedTuple):
    """How a program ended."""

    code: int
    out: str
    err: str


class Sdks:
    """``with Sdks(folder) as sdks: sdks.run(...)``; the folder is empty, and stays so."""

    def __init__(self, folder: Path) -> None:
        nowhere = {"HOME": str(folder), "PATH": str(folder)}  # as in a container that sets neither
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(FORKS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=nowhere,
            cwd=folder,
            text=True,
        )
        assert self._process.stdout is not None
        message = json.loads(self._process.stdout.readline())
        self._port: int = message["port"]
        self.early = frozenset[str](message["names"])
        """Variables that are read while the SDKs are imported."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)

    def run(
        self,
        program: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        fork: bool = True,
    ) -> Done:
        """Run a Python program to its end, isolated, with exactly this environment."""
        if not fork:
            command = [sys.executable, "-I", str(program), *arguments]
            done = subprocess.run(
                command,
                check=False,
                env=dict(environment),
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
            return Done(done.returncode, done.stdout, done.stderr)
        job = {
            "program": str(program),
            "arguments": list(arguments),
            "environment": dict(environment),
            "folder": str(folder),
            "seconds": SECONDS,
        }
        address = ("127.0.0.1", self._port)
        with contextlib.closing(socket.create_connection(address, timeout=SECONDS + 10)) as connection:
            connection.sendall(json.dumps(job).encode() + b"\n")
            with connection.makefile("rb") as stream:
                return Done(**json.loads(stream.read()))
