"""``scripts/rig up|down|status|env``: one control plane that stays when the command has ended.

What runs is written to ``state.json`` in the cache folder: process ids, each with its time of birth, so that
``down`` ends our processes and nobody else's.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests.rig import catalogue, guard, process, toolchain
from tests.rig.controlplane import ControlPlane

USAGE = """usage: scripts/rig up [--nodes] [--old]   start one and leave it running
       scripts/rig status                 what runs, and where
       scripts/rig env                    for your shell: eval "$(scripts/rig env)"
       scripts/rig down                   end it and remove its data
  --nodes  also a scheduler and a fake node, so that pods run (no container is started)
  --old    the oldest API server that we test with"""


def home() -> Path:
    return catalogue.cache() / "rig" / "up"


def state() -> dict[str, Any] | None:
    """What ``up`` wrote; None when nothing was started or all of it is gone."""
    try:
        found: dict[str, Any] = json.loads((home() / "state.json").read_text())
    except (OSError, ValueError):
        return None
    return found if any(alive(part) for part in found["parts"]) else None


def alive(part: dict[str, Any]) -> bool:
    return bool(part["born"]) and guard.birth(part["pid"]) == part["born"]


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """One ``up`` or ``down`` at a time. Raises TimeoutError when another takes too long."""
    home().parent.mkdir(parents=True, exist_ok=True)
    with (home().parent / "up.lock").open("w") as lock:

        def held() -> bool:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        process.wait("another scripts/rig to finish", held, 120.0)
        yield


def up(options: set[str]) -> int:
    with alone():
        if (running := state()) is not None:
            print("it runs already")
            hints(running)
            return 0
        clear()
        began = time.monotonic()
        nodes = "--nodes" in options
        plane = ControlPlane(
            home(),
            version=catalogue.OLD if "--old" in options else catalogue.NEW,
            scheduler=nodes,
            nodes=nodes,
            guarded=False,
        )
        plane.start()
        try:
            if nodes:
                plane.node()
            found = {
                "version": plane.version,
                "url": plane.url,
                "kubeconfig": str(plane.kubeconfig(embed=True)),
                "nodes": nodes,
                "parts": [
                    {"name": part.name, "pid": part.process.pid, "born": part.process.born}
                    for part in plane.parts
                ],
            }
            (home() / "state.json").write_text(json.dumps(found, indent=1))
        except BaseException:
            plane.stop()
            raise
        print(f"up after {time.monotonic() - began:.1f} s")
        hints(found)
        return 0


def hints(found: dict[str, Any]) -> None:
    print(f"kube-apiserver {found['version']} at {found['url']}, logs in {home() / 'logs'}")
    print(f"  export KUBECONFIG={found['kubeconfig']}")
    print("what to try")
    if shutil.which("kubectl"):
        print("  kubectl get namespaces")
        print("  kubectl create deployment hello --image=example.test/hello --replicas=3")
        print(
            f"  kubectl get pods{' -o wide' if found['nodes'] else '   # pending: no node; see up --nodes'}"
        )
        print("  kubectl run once --image=example.test/once --dry-run=server -o yaml")
    else:
        print("  any Kubernetes client with this kubeconfig (kubectl is not on PATH)")
    print(f"  tail -f {home() / 'audit.log'}")
    print("  scripts/rig down")


def down() -> int:
    with alone():
        if (running := state()) is None:
            print("nothing runs")
        else:
            for part in reversed(running["parts"]):
                if process.end(part["pid"], part["born"]):
                    print(f"ended {part['name']} ({part['pid']})")
        clear()
        return 0


def clear() -> None:
    """Removes the data of one that does not run."""
    if home().exists():
        shutil.rmtree(home())


def status() -> int:
    """0 when all of it runs, 3 when some or all of it does not."""
    if (running := state()) is None:
        print("nothing runs; start one with scripts/rig up")
        return 3
    print(f"kube-apiserver {running['version']} at {running['url']}")
    for part in running["parts"]:
        print(f"  {part['name']:24} {part['pid']:8} {'runs' if alive(part) else 'is gone'}")
    print(f"  KUBECONFIG={running['kubeconfig']}")
    return 0 if all(map(alive, running["parts"])) else 3


def env() -> int:
    if (running := state()) is None:
        print("nothing runs; start one with scripts/rig up", file=sys.stderr)
        return 3
    print(f"export KUBECONFIG='{running['kubeconfig']}'")
    return 0


def main(arguments: Sequence[str]) -> int:
    """Exit code 0; 1 with one sentence; 2 for wrong words; 3 when nothing runs."""
    word, options = (arguments[0] if arguments else ""), set(arguments[1:])
    commands = {"down": down, "status": status, "env": env}
    try:
        if word == "up" and options <= {"--nodes", "--old"}:
            return up(options)
        if word in commands and not options:
            return commands[word]()
    except (toolchain.CannotBuild, process.Failed, TimeoutError, OSError) as error:
        print(f"rig: {error}", file=sys.stderr)
        return 1
    print(USAGE, file=sys.stderr)
    return 0 if word in ("help", "--help", "-h") else 2


def interrupted(number: int, _frame: object) -> NoReturn:
    """SIGTERM unwinds like Ctrl-C, so that a half-booted one is ended."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    os.umask(0o077)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
