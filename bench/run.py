"""`python -m bench.run`: runs the sections, prints the table, writes bench/results/latest.json.

Exit code: 0 all bars met, 1 some missed or not measured (0 with --no-fail), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from bench import cores, fixtures, results, rig, wrk
from bench.figures import Figure
from bench.sections import (
    aro,
    cluster,
    endurance,
    fleet,
    handler,
    hosted,
    hostile,
    memory,
    provision,
    sandbox,
    server,
    start,
    steady,
)

SECTIONS: dict[str, Callable[[rig.Rig], list[Figure]]] = {
    "handler": handler.measure,
    "server": server.measure,
    "steady": steady.measure,
    "sandbox": sandbox.measure,
    "hostile": hostile.measure,
    "memory": memory.measure,
    "start": start.measure,
    "fleet": fleet.measure,
    "cluster": cluster.measure,
    "endurance": endurance.measure,
    "provision": provision.measure,
    "hosted": hosted.measure,
    "aro": aro.measure,
}


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.run", description="the figures of the README, measured"
    )
    parser.add_argument(
        "--quick", action="store_true", help="about two minutes, our own loader: a look, not a claim"
    )
    parser.add_argument("--only", type=_sections, default=list(SECTIONS), help=f"of {','.join(SECTIONS)}")
    parser.add_argument("--own-loader", action="store_true", help="use our loader even when wrk is there")
    parser.add_argument("--install", action="store_true", help="try apt-get install wrk when it is missing")
    parser.add_argument("--no-fail", action="store_true", help="exit 0 even when bars are missed")
    parser.add_argument(
        "--seed", type=int, default=fixtures.SEED, help="of the uids and hashes in the reviews"
    )
    return parser.parse_args(arguments)


def _sections(text: str) -> list[str]:
    expected = [name.strip() for name in text.split(",") if name.strip()]
    unknown = sorted(set(expected) - set(SECTIONS))
    if unknown or not expected:
        raise argparse.ArgumentTypeError(
            f"no section {', '.join(unknown)!r}, want some of {', '.join(SECTIONS)}"
        )
    return [name for name in SECTIONS if name in expected]


def main(arguments: list[str]) -> int:
    chosen = options(arguments)
    if sys.platform != "linux":
        print("the bench needs Linux: it reads /proc, pins cores and polls with epoll", file=sys.stderr)
        return 2
    # a SIGTERM must end our children too, so it becomes an exception that passes every `with`
    signal.signal(signal.SIGTERM, terminated)
    if chosen.install and not wrk.program():
        print(wrk.install())
    tool = None if chosen.own_loader or chosen.quick else wrk.program()
    lengths = rig.QUICK if chosen.quick else rig.FULL
    began, load = time.monotonic(), os.getloadavg()[0]
    found: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="vestibule-bench-") as scratch:
        environment = rig.make(Path(scratch), tool, lengths, chosen.seed)
        print(environment.split.told, environment.loader.told, sep="; ")
        if load > 0.5:
            print(f"machine is busy (load {load:.1f} on {len(cores.usable())} cores): trust the ratios only")
        for name in chosen.only:
            print(f"measuring {name} …", flush=True)
            found += SECTIONS[name](environment)
    circumstances = {
        "seed": chosen.seed,
        "quick": chosen.quick,
        "sections": chosen.only,
        "pinning": environment.split.told,
        "loader": "wrk" if environment.loader.tool else "ours",
        "load_before": round(load, 2),
    }
    results.write(found, circumstances)
    print(f"\n{results.table(found)}\n\n{results.summary(found)}; {time.monotonic() - began:.0f} s")
    return 1 if any(figure.missed for figure in found) and not chosen.no_fail else 0


def terminated(number: int, frame: FrameType | None) -> None:
    """Ends this process through every `with`, and so its children."""
    del frame
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
