"""Loads on a server: which loader runs, on which core, and what it and the server used.

Closed loops run with wrk where it is found, else with ours; open loops and churn are always ours. Each
Load carries the share of its core that the server used: far below 1 in a closed loop means that the
loader, or other work on the machine, was the limit, and the figure says less about the server.
"""

from __future__ import annotations

import math
import resource
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench import cores, fixtures, loader, processes, wrk

BUSY = 0.85
"""Share of the core below which a saturated server was not the limit."""


class Failed(Exception):
    """The loader could not do its work; the text says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server under load."""

    child: processes.Child
    port: int
    trust: Path
    seed: int
    shape: str = "aws"


@dataclass(frozen=True, slots=True)
class Load:
    """The result of one run; latencies in ms, shares of one core."""

    requests: int
    per_second: float
    p50: float
    p99: float
    errors: int
    server_cpu: float
    loader_cpu: float
    worst: float = math.inf
    """Infinite where the loader does not tell it."""


@dataclass(frozen=True, slots=True)
class Loader:
    tool: str | None
    """Path of wrk, None for our own loader."""
    split: cores.Cores
    scratch: Path

    @property
    def told(self) -> str:
        if self.tool:
            return "loader: wrk (steady rate and churn: ours)"
        if wrk.program():
            return "loader: ours (wrk is for full runs)"
        return "loader: ours, wrk was not found on PATH (--install tries apt-get)"

    def closed(self, target: Target, connections: int, seconds: float) -> Load:
        if not self.tool:
            return self._ours(
                target, "closed", connections=connections, seconds=seconds, warmup=_warmup(seconds)
            )
        lua = self.scratch / f"wrk-{target.shape}.lua"
        if not lua.exists():
            lua.write_text(wrk.script(fixtures.bodies(target.shape, target.seed)))
        command = wrk.command(self.tool, target.port, connections, seconds, lua)
        pid = target.child.process.pid
        cpu, own, began = processes.cpu_seconds(pid), _ended_children(), time.perf_counter()
        output = self._run(command, b"", seconds + 30)
        took = time.perf_counter() - began
        try:
            found = wrk.parse(output.decode())
        except wrk.Failed as problem:
            raise Failed(str(problem)) from problem
        return Load(
            requests=found.requests,
            per_second=found.per_second,
            p50=found.p50,
            p99=found.p99,
            errors=found.errors,
            server_cpu=(processes.cpu_seconds(pid) - cpu) / took,
            loader_cpu=(_ended_children() - own) / took,
        )

    def steady(self, target: Target, rate: float, burst: int, seconds: float) -> Load:
        """The open loop over 16 connections: what an API server keeps open at such a rate."""
        return self._ours(
            target,
            "open",
            connections=16,
            seconds=seconds,
            warmup=_warmup(seconds),
            rate=rate,
            burst=burst,
        )

    def churn(self, target: Target, connections: int) -> Load:
        return self._ours(target, "churn", connections=connections, seconds=connections * 0.02, warmup=0.0)

    def _ours(
        self,
        target: Target,
        mode: str,
        *,
        connections: int,
        seconds: float,
        warmup: float,
        rate: float = 0.0,
        burst: int = 1,
    ) -> Load:
        plan = loader.Plan(
            mode=mode,
            port=target.port,
            pid=target.child.process.pid,
            trust=str(target.trust),
            shape=target.shape,
            seed=target.seed,
            connections=connections,
            seconds=seconds,
            warmup=warmup,
            rate=rate,
            burst=burst,
            spin=self.split.server is not None,
        )
        command = processes.python("bench.loader")
        output = self._run(command, msgspec.json.encode(plan), seconds + warmup + 60)
        report = msgspec.json.decode(output, type=loader.Report)
        return Load(
            requests=report.requests,
            per_second=report.requests / report.seconds,
            p50=report.p50,
            p99=report.p99,
            errors=report.errors,
            server_cpu=report.server_cpu,
            loader_cpu=report.loader_cpu,
            worst=report.worst,
        )

    def _run(self, command: list[str], stdin: bytes, limit: float) -> bytes:
        """What the loader printed. Raises Failed with its last words."""
        with cores.pinned(self.split.loader):
            try:
                done = subprocess.run(
                    command,
                    input=stdin,
                    cwd=processes.ROOT,
                    env=processes.environment(),
                    capture_output=True,
                    timeout=limit,
                    check=False,
                )
            except subprocess.TimeoutExpired as problem:
                raise Failed(f"loader did not end in {limit:g} s") from problem
        if done.returncode != 0:
            words = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
            raise Failed(f"loader failed: {processes.clean(words[-1])}")
        return done.stdout


def _warmup(seconds: float) -> float:
    """Seconds before the measured ones: a quarter of them, at most one."""
    return min(1.0, seconds / 4)


def _ended_children() -> float:
    """Processor time of the children that have ended; the servers run on, so a difference is the loader's."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
