"""All targets within a time: ``python -m tests.fuzz.run --seconds 60 --seed 7 --jobs 2 [TARGET...]``.

The seed is fresh unless it is given, and printed. Exit code 0: nothing was found; 1: something was, and its
input stands in ``build/fuzz``.
"""

from __future__ import annotations

import argparse
import importlib.util
import secrets
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from tests.fuzz.targets import NAMES


class Outcome(NamedTuple):
    """How one target ended."""

    target: str
    code: int
    text: str


def engine() -> str:
    """Atheris where it is installed: it has wheels for some Pythons only."""
    return "atheris" if importlib.util.find_spec("atheris") else "own"


def run(targets: list[str], seconds: float, seed: int, jobs: int, more: list[str]) -> list[Outcome]:
    """Each target in a process of its own, with its share of the time."""
    share = max(1.0, seconds * jobs / len(targets))

    def one(target: str) -> Outcome:
        command = [sys.executable, "-m", "tests.fuzz.one", target, "--engine", engine()]
        command += ["--seconds", str(share), "--seed", str(seed), *more]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        return Outcome(target, done.returncode, done.stdout)

    # a folder of its own, or what an earlier run left would change what a seed does
    with tempfile.TemporaryDirectory(prefix="vestibule-fuzz-") as grown, ThreadPoolExecutor(jobs) as pool:
        more = [*more, "--grown", grown]
        return list(pool.map(one, targets))


def main() -> None:
    """Run, and say what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600, help="for all targets together")
    parser.add_argument("--seed", type=int, default=0, help="0: a fresh one")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="put inputs with new coverage into the corpus")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(NAMES)}; default: all")
    given = parser.parse_args()
    unknown = sorted(set(given.targets) - set(NAMES))
    if unknown:
        parser.error(f"no target {', '.join(unknown)}, want some of {', '.join(NAMES)}")
    seed = given.seed or secrets.randbelow(2**31 - 1) + 1
    targets = given.targets or list(NAMES)
    again = f"make fuzz SECONDS={given.seconds:g} SEED={seed} TARGETS='{' '.join(targets)}'"
    print(f"fuzz: seed {seed}, engine {engine()}; again: {again}", flush=True)
    failed = False
    for outcome in run(targets, given.seconds, seed, given.jobs, ["--keep"] if given.keep else []):
        failed |= outcome.code != 0
        print(f"fuzz: {outcome.target}: {'nothing found' if not outcome.code else f'exit {outcome.code}'}")
        if outcome.code:
            print(outcome.text[-20_000:])
        else:
            lines = outcome.text.splitlines()
            print("\n".join(line for line in lines if "number_of_executed_units" in line or "inputs" in line))
    sys.exit(failed)


if __name__ == "__main__":
    main()
