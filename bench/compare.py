"""`python -m bench.compare COMMIT`: what a decision costs in the work tree and in a base commit.

Both sides are measured in interleaved rounds. The base is checked out in a temporary git worktree and runs
with this environment's packages, its own source first on PYTHONPATH. Modules move between commits, so both
sides are measured from outside only: the webhook process over HTTPS, and the command line.

Exit code: 0 no loss, 1 a loss of more than 5 % that exceeds the spread, 2 nothing could be compared.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from bench import cluster, comparison, cores, fixtures, loads, processes, rig, servers
from bench.processes import Unavailable
from bench.run import terminated

ROUNDS = 7
"""Odd, so that the median is a round that was measured."""
SECONDS = 1.5
"""One closed loop: some thousand requests; Linux counts CPU time in steps of 10 ms, an error of 1 %."""
LIMIT_SECONDS = 300.0
"""After this time no further round starts; an idle machine needs 90 seconds."""
COMMAND_LIMIT = 60.0
CONNECTIONS = 16
SHAPES = {"none-apart": "pod that requests nothing", "aws-apart": "pod with an AWS identity"}
"""Reviews of pods of which no two are alike: nothing that a server caches for a workload helps it."""
COMMANDS = ("inject", "explain")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two source trees."""

    name: str
    source: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.source / "src")}


Costs = dict[tuple[str, str], float]
"""Cost by figure and unit, of one side in one round."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__.partition("\n")[0])
    parser.add_argument("base", help="commit to compare the work tree with")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"default {ROUNDS}, at least {comparison.FEWEST}"
    )
    parser.add_argument(
        "--limit", type=float, default=LIMIT_SECONDS, help="seconds after which no round starts"
    )
    chosen = parser.parse_args(arguments)
    if sys.platform != "linux":
        print("the bench needs Linux: it reads /proc, pins cores and polls with epoll", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, terminated)
    try:
        with tempfile.TemporaryDirectory(prefix="vestibule-compare-") as scratch, ExitStack() as stack:
            base = stack.enter_context(_checkout(chosen.base, Path(scratch)))
            tree = Side("work tree", processes.ROOT)
            found = _measure(base, tree, Path(scratch), max(chosen.rounds, comparison.FEWEST), chosen.limit)
    except (Unavailable, loads.Failed, OSError, ValueError) as problem:
        print(f"not compared: {problem}", file=sys.stderr)
        return 2
    print(f"\n{comparison.table(found)}")
    lost = [one.name for one in found if one.lost]
    if lost:
        print(f"\nloss of more than {comparison.LIMIT:.0%} that exceeds the spread: {', '.join(lost)}")
        return 1
    print(f"\nno loss of more than {comparison.LIMIT:.0%} that exceeds the spread")
    return 0


@contextmanager
def _checkout(commit: str, scratch: Path) -> Iterator[Side]:
    """The commit in a git worktree that is removed with the block. Raises Unavailable if it is unknown."""
    folder = scratch / "base"
    done = _git("worktree", "add", "--detach", "--force", str(folder), commit)
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or ["git printed no reason"]
        raise Unavailable(f"commit {commit!r} cannot be checked out: {processes.clean(words[-1])}")
    try:
        side = Side(f"base {commit}", folder)
        for one in (side.source, processes.ROOT):
            subprocess.run(
                [sys.executable, "-m", "compileall", "-q", str(one / "src")],
                check=False,
                timeout=COMMAND_LIMIT,
            )
        if _locked(folder) != _locked(processes.ROOT):
            print("requirements/runtime.txt differs: both sides run with the packages of the work tree")
        yield side
    finally:
        _git("worktree", "remove", "--force", str(folder))
        shutil.rmtree(folder, ignore_errors=True)
        _git("worktree", "prune")


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *arguments],
        cwd=processes.ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_LIMIT,
    )


def _locked(folder: Path) -> bytes:
    file = folder / "requirements" / "runtime.txt"
    return file.read_bytes() if file.exists() else b""


def _measure(base: Side, tree: Side, scratch: Path, rounds: int, limit: float) -> list[comparison.Comparison]:
    environment = rig.make(scratch, None, rig.QUICK, fixtures.SEED)
    cluster.write(environment.cluster_dir, [*cluster.objects(), *cluster.workloads(fixtures.APART)])
    manifest = scratch / "pod.yaml"
    manifest.write_text(yaml.safe_dump(fixtures.review("aws")["request"]["object"]))
    print(f"{environment.split.told}; {base.name} and the work tree take turns", flush=True)
    costs: dict[str, list[Costs]] = {base.name: [], tree.name: []}
    began = time.monotonic()
    with ExitStack() as stack:
        targets = {
            side: stack.enter_context(servers.ours(environment, side.environment))
            for side in (_proven(base), _proven(tree))
        }
        for number in range(rounds):
            if number >= comparison.FEWEST and time.monotonic() - began > limit:
                print(f"stopped after {number} of {rounds} rounds: {limit:g} s are over")
                break
            # who begins changes from round to round: a machine that gets slower within a round favours nobody
            for side, target in list(targets.items())[:: 1 if number % 2 == 0 else -1]:
                costs[side.name].append(
                    {
                        **_served(environment, target),
                        **_commands(side, environment.split.server, manifest, environment.cluster_dir),
                    }
                )
            print(f"round {number + 1} of {rounds}", flush=True)
    return [
        comparison.compare(
            name, unit, [(one[name, unit], two[name, unit]) for one, two in zip(*costs.values(), strict=True)]
        )
        for name, unit in costs[base.name][0]
    ]


def _proven(side: Side) -> Side:
    """The same side. Raises Unavailable when its interpreter would import another source tree."""
    command = [sys.executable, "-c", "import vestibule; print(vestibule.__file__)"]
    done = subprocess.run(
        command,
        env=processes.environment(side.environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_LIMIT,
    )
    if not Path(done.stdout.strip()).is_relative_to(side.source):
        raise Unavailable(f"{side.name}: imports vestibule from another source tree")
    return side


def _served(environment: rig.Rig, target: loads.Target) -> Costs:
    """CPU time and wall time per request over HTTPS."""
    found: Costs = {}
    for shape, label in SHAPES.items():
        load = environment.loader.closed(replace(target, shape=shape), CONNECTIONS, SECONDS)
        if load.errors:
            raise Unavailable(f"{label}: {load.errors} of {load.requests} requests failed")
        found[label, "µs of CPU"] = load.server_cpu / load.per_second * 1e6
        found[label, "µs per request"] = 1e6 / load.per_second
    return found


def _commands(side: Side, core: int | None, manifest: Path, cluster_dir: Path) -> Costs:
    """CPU time of commands from start to end: imports, settings, one decision, output."""
    found: Costs = {}
    for name in COMMANDS:
        command = processes.python("vestibule", name, "-f", str(manifest), "--cluster", str(cluster_dir))
        before = _ended_children()
        with cores.pinned(core):
            done = subprocess.run(
                command,
                env=processes.environment(side.environment),
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_LIMIT,
            )
        if done.returncode != 0 or "AWS_ROLE_ARN" not in done.stdout:
            raise Unavailable(f"{side.name}: {name} failed: {processes.clean(done.stderr)}")
        found[f"vestibule {name}", "ms of CPU"] = (_ended_children() - before) * 1e3
    return found


def _ended_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
