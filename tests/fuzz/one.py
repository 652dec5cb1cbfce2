"""One target in a process of its own: ``python -m tests.fuzz.one TARGET --seconds 8 --seed 1``.

Atheris (libFuzzer) drives it where it can be had; elsewhere a small loop of our own does, which keeps inputs
that reach new lines (Python 3.12 tells which lines are new for almost nothing; before, inputs are kept at
random). A fault ends the process with code 77 and leaves its input in a file.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib
import os
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tests.fuzz.targets import COVERED

CORPUS: Final = Path(__file__).parent / "corpus"
FAULT: Final = 77
_TOOL_ID: Final = 4  # free for others than debuggers, coverage and profilers


def main() -> None:
    """Fuzz until the time is over or a fault is found, or run what is named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=["atheris", "own"], default="own")
    parser.add_argument("--found", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--grown", type=Path, default=Path("build/fuzz/corpus"), help="inputs of this run")
    parser.add_argument("--keep", action="store_true", help="put inputs with new coverage into the corpus")
    parser.add_argument("inputs", nargs="*", type=Path, help="run these instead")
    given = parser.parse_args()
    module = f"tests.fuzz.targets.{given.target}"
    if given.engine == "atheris" and not given.inputs:
        target = _instrumented(given.target, module)
    else:
        target = importlib.import_module(module)
    check = _reporting(given.target, target.check, given.found)
    if given.inputs:
        for path in given.inputs:
            check(path.read_bytes())
    elif given.engine == "atheris":
        _atheris(target, check, given)
    else:
        _own(target, check, given)


def _reporting(name: str, check: Callable[[bytes], None], found: Path) -> Callable[[bytes], None]:
    """A check that says how to get its fault again."""

    def checked(data: bytes) -> None:
        try:
            check(data)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a fault
            found.mkdir(parents=True, exist_ok=True)
            path = found / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
            traceback.print_exception(error, limit=-12)
            print(f"fuzz: {name}: {type(error).__name__} with {path}", file=sys.stderr)
            print(f"fuzz: input in base64: {base64.b64encode(data).decode()}", file=sys.stderr)
            print(f"fuzz: again: python -m tests.fuzz.one {name} {path}", file=sys.stderr, flush=True)
            os._exit(FAULT)  # libFuzzer would print the same once more

    return checked


def _instrumented(name: str, module: str) -> ModuleType:
    import atheris

    with atheris.instrument_imports(include=[*COVERED.get(name, ()), module]):
        return importlib.import_module(module)


def _atheris(target: ModuleType, check: Callable[[bytes], None], given: argparse.Namespace) -> None:
    import atheris

    seeds = CORPUS / given.target
    grown = seeds if given.keep else given.grown / given.target
    grown.mkdir(parents=True, exist_ok=True)
    given.found.mkdir(parents=True, exist_ok=True)
    options = [
        sys.argv[0], f"-max_total_time={max(1, round(given.seconds))}", f"-seed={given.seed or 1}",
        f"-max_len={target.LONGEST}", "-timeout=20", "-rss_limit_mb=2048", "-verbosity=0",
        "-print_final_stats=1", f"-artifact_prefix={given.found}/",
        str(grown), *([] if given.keep else [str(seeds)]),
    ]  # fmt: skip

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        if seed % 4 == 0:
            return bytes(atheris.Mutate(data, longest))
        found: bytes = target.mutate(data, longest, seed)
        return found[:longest]

    atheris.Setup(options, check, custom_mutator=mutate)
    atheris.Fuzz()


class _NewLines:
    """Whether lines were reached that were not before, in the modules that count."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._new = False
        self._monitoring: Any = getattr(sys, "monitoring", None)
        if self._monitoring is None:
            return
        folders = tuple(name.replace(".", "/") for name in names)
        monitoring = self._monitoring

        def line(code: Any, _number: int) -> Any:
            if any(folder in code.co_filename for folder in folders):
                self._new = True
            return monitoring.DISABLE  # each line is told once

        monitoring.use_tool_id(_TOOL_ID, "vestibule-fuzz")
        monitoring.register_callback(_TOOL_ID, monitoring.events.LINE, line)
        monitoring.set_events(_TOOL_ID, monitoring.events.LINE)

    def took(self, dice: random.Random) -> bool:
        if self._monitoring is None:
            return dice.random() < 0.002
        new, self._new = self._new, False
        return new


def _own(target: ModuleType, check: Callable[[bytes], None], given: argparse.Namespace) -> None:
    dice = random.Random(given.seed)  # noqa: S311 - not for secrets
    lines = _NewLines(COVERED.get(given.target, ()))
    pool = [path.read_bytes() for path in sorted((CORPUS / given.target).iterdir())] or [b""]
    for data in pool:
        check(data)
    lines.took(dice)
    ends = time.monotonic() + given.seconds
    runs = 0
    while time.monotonic() < ends:
        data = dice.choice(pool)
        for _ in range(dice.choice([1, 1, 1, 2, 4])):
            data = target.mutate(data, target.LONGEST, dice.getrandbits(32))
        check(data)
        runs += 1
        if lines.took(dice):
            pool.append(data)
            if given.keep:
                (CORPUS / given.target / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    print(f"fuzz: {given.target}: {runs} inputs, {len(pool)} kept", flush=True)


if __name__ == "__main__":
    main()
