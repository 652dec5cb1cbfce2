"""wrk as the loader where it can be had: its script, its command line, its output.

It costs about as much processor time per request as ours (48 µs each, side by side on a busy machine);
what speaks for it is that readers know it.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench import fixtures

_UNITS = {"us": 0.001, "ms": 1.0, "s": 1_000.0, "m": 60_000.0}


class Failed(Exception):
    """wrk did not run, or said something this module does not understand."""


@dataclass(frozen=True, slots=True)
class Output:
    """What one run of wrk found; latencies in ms."""

    requests: int
    per_second: float
    p50: float
    p99: float
    errors: int


def program() -> str | None:
    return shutil.which("wrk")


def install() -> str:
    """Tries the package manager of Debian; one line about how that went."""
    apt = shutil.which("apt-get")
    if not apt:
        return "wrk: no apt-get here, not installed"
    done = subprocess.run(
        [apt, "install", "-y", "wrk"], capture_output=True, text=True, timeout=300, check=False
    )
    return "wrk: installed" if done.returncode == 0 else "wrk: apt-get install failed (root needed?)"


def script(bodies: list[bytes]) -> str:
    """Lua that sends the bodies in turn; requests are built once, before the first is sent."""
    lines = [f"  [==[{body.decode()}]==]," for body in bodies]
    return "\n".join(
        [
            "local bodies = {",
            *lines,
            "}",
            'local headers = {["Content-Type"] = "application/json"}',
            "local ready, turn = {}, 0",
            "function init(args)",
            '  for i, body in ipairs(bodies) do ready[i] = wrk.format("POST", nil, headers, body) end',
            "end",
            "function request()",
            "  turn = turn % #ready + 1",
            "  return ready[turn]",
            "end",
            "",
        ]
    )


def command(tool: str, port: int, connections: int, seconds: float, lua: Path) -> list[str]:
    """wrk knows whole seconds only, so the time is rounded up."""
    url = f"https://127.0.0.1:{port}{fixtures.PATH}"
    time = f"-d{math.ceil(seconds)}s"
    return [tool, "-t1", f"-c{connections}", time, "--latency", "--timeout", "5s", "-s", str(lua), url]


def parse(text: str) -> Output:
    """Raises Failed when a figure is missing."""
    socket_errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    errors = sum(map(int, socket_errors.groups())) if socket_errors else 0
    return Output(
        requests=int(_figure(r"(\d+) requests in", text)),
        per_second=float(_figure(r"Requests/sec:\s+([\d.]+)", text)),
        p50=_latency(r"\b50%\s+([\d.]+)(us|ms|s|m)\b", text),
        p99=_latency(r"\b99%\s+([\d.]+)(us|ms|s|m)\b", text),
        errors=errors + (int(refused[1]) if refused else 0),
    )


def _figure(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if not found:
        raise Failed(f"wrk said nothing like {pattern!r}: {text.strip()[-200:]!r}")
    return found[1]


def _latency(pattern: str, text: str) -> float:
    _figure(pattern, text)
    found = re.search(pattern, text)
    assert found is not None
    return float(found[1]) * _UNITS[found[2]]
