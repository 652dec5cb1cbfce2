"""Child processes of the bench: start pinned, wait until ready, read memory and CPU time, end by pid.

Standard error goes to a file in the scratch folder, as logs of a container would: it is part of the cost
of every server, ours and theirs, and the last lines of it explain a server that did not start.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import cores

ROOT = Path(__file__).resolve().parents[1]
"""The work tree: `python -m bench…` runs from here."""


class Unavailable(Exception):
    """A server cannot be measured here; the text says why and the bench goes on."""


@dataclass(frozen=True, slots=True)
class Child:
    """A running server."""

    process: subprocess.Popen[bytes]
    log: Path

    def rss_mib(self) -> float:
        """Resident memory, MiB (VmRSS)."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise Unavailable("process has ended")

    def last_words(self) -> str:
        """The last line of its log that is not blank, for an error text."""
        lines = self.log.read_text(errors="replace").split("\n")
        return clean(next((line for line in reversed(lines) if line.strip()), "it said nothing"))


def clean(text: str) -> str:
    """Words of another program without addresses, looked-up host names and folders of this machine."""
    text = re.sub(r"https?://\S+|(?<=lookup )\S+", "…", text.strip())
    return re.sub(r"(?<![^\s'\"=(])/\S*/", "…/", text)[-200:]


def cpu_seconds(pid: int) -> float:
    """User and system time a process used so far, in steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without what slows Python down; some machines switch bytecode off, an image does not."""
    stored = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**stored, **(extra or {})}


@contextmanager
def running(
    command: Sequence[str], log: Path, core: int | None, extra: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """Starts `command` on `core` and ends it with the block. Raises Unavailable when it does not execute."""
    with log.open("ab") as output, cores.pinned(core):
        try:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(extra),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        except OSError as problem:
            raise Unavailable(f"{Path(command[0]).name} does not start: {problem.strerror}") from problem
    try:
        yield Child(process, log)
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


def python(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


def free_port() -> int:
    """A port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(child: Child, ready: Callable[[], bool], seconds: float, pause: float = 0.02) -> None:
    """Returns when `ready()` is true. Raises Unavailable when the process ends first or the time is over."""
    deadline = time.perf_counter() + seconds
    while not ready():
        if child.process.poll() is not None:
            raise Unavailable(f"ended with code {child.process.returncode}: {child.last_words()}")
        if time.perf_counter() > deadline:
            raise Unavailable(f"not ready after {seconds:g} s: {child.last_words()}")
        time.sleep(pause)


def listens(port: int) -> bool:
    """Whether somebody accepts connections on a port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def answers_200(url: str, trust: ssl.SSLContext) -> bool:
    """Whether a GET of `url` (https or http on 127.0.0.1) gives 200; no server yet is False."""
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    try:
        status, _ = exchange(host, "GET", f"/{path}", None, trust if scheme == "https" else None)
    except OSError:
        return False
    return status == 200


def exchange(
    host: str, method: str, path: str, body: bytes | None, trust: ssl.SSLContext | None
) -> tuple[int, bytes]:
    """One request on a connection of its own: status and body. Raises OSError for every failure."""
    connection = (
        http.client.HTTPSConnection(host, timeout=5, context=trust)
        if trust
        else http.client.HTTPConnection(host, timeout=5)
    )
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except http.client.HTTPException as problem:
        raise OSError(f"no HTTP answer: {problem!r}") from problem
    finally:
        connection.close()
