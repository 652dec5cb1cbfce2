"""``python -m tests.rig.build [--old] [--all] [names…]``: the rig's programs, built once per version.

A binary appears under its final name only when it is whole, and a lock keeps two builders apart. Once all
binaries exist a call costs one ``stat`` each; that is why the tool chain is imported late.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.rig import catalogue
from tests.rig.catalogue import Binary

if TYPE_CHECKING:
    from tests.rig.toolchain import Tell

BUILD_SECONDS = 3_600.0
"""For one binary, and for the wait for another builder: 400 s were measured at load 13, times 9."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def ensure(
    names: Sequence[str] = catalogue.CORE, version: str = catalogue.NEW, tell: Tell = say
) -> dict[str, Path]:
    """The binaries by name, built when missing.

    Raises toolchain.CannotBuild with one sentence when that cannot be done.
    """
    known = catalogue.known(version)
    binaries = [known[name] for name in names]
    for binary in binaries:
        if not binary.path.exists():
            with _alone(binary, tell):
                # another builder may have finished while we waited for the lock
                if not binary.path.exists():
                    _build(binary, tell)
    return {binary.name: binary.path for binary in binaries}


def _build(binary: Binary, tell: Tell) -> None:
    import shutil

    from tests.rig import toolchain

    go = toolchain.go(_wanted(binary), tell)
    what = f"{binary.name} {binary.version}"
    tell(f"building {what} with Go {'.'.join(map(str, toolchain.version(go)))}; minutes, once per version")
    unfinished = binary.path.with_name(f".{binary.name}.{os.getpid()}")
    politely = ["nice", "-n", "15"] if shutil.which("nice") else []
    flags = ["-v", "-p", str(min(4, os.cpu_count() or 1)), "-mod=readonly", "-trimpath", "-buildvcs=false"]
    command = [*politely, str(go), "build", *flags, "-ldflags", binary.link_flags]
    extra = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    folder = catalogue.MODULES / binary.module
    try:
        command += ["-o", str(unfinished), binary.package]
        seconds = toolchain.watched(command, folder, extra, what, BUILD_SECONDS, tell)
        unfinished.replace(binary.path)
    finally:
        unfinished.unlink(missing_ok=True)
    tell(f"built {what} in {seconds:.0f} s, {binary.path.stat().st_size / 1e6:.0f} MB")


def _wanted(binary: Binary) -> tuple[int, ...]:
    """The Go version that the module file asks for."""
    match = re.search(r"^go (\S+)$", (catalogue.MODULES / binary.module / "go.mod").read_text(), re.MULTILINE)
    assert match is not None
    return tuple(map(int, match[1].split(".")))


@contextlib.contextmanager
def _alone(binary: Binary, tell: Tell) -> Iterator[None]:
    """Holds the lock of the version's folder. Raises CannotBuild when another holds it for too long."""
    import fcntl

    from tests.rig import toolchain

    binary.path.parent.mkdir(parents=True, exist_ok=True)
    with (binary.path.parent / ".lock").open("w") as lock:
        began = reported = time.monotonic()
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            now = time.monotonic()
            if now - began > BUILD_SECONDS:
                raise toolchain.CannotBuild(
                    f"another builder of {binary.version} held its lock for {BUILD_SECONDS:.0f} s"
                )
            if now - reported >= toolchain.TELL_SECONDS:
                reported = now
                tell(f"  waiting for another builder of {binary.version}: {now - began:.0f} s")
            time.sleep(0.2)
        yield


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 with one path per line on stdout; 1 with one sentence; 2 for wrong words."""
    words = [word for word in arguments if not word.startswith("-")]
    options = {word for word in arguments if word.startswith("-")}
    version = catalogue.OLD if "--old" in options else catalogue.NEW
    known = catalogue.known(version)
    if options - {"--old", "--all"} or not set(words) <= known.keys():
        say(f"usage: python -m tests.rig.build [--old] [--all] [{' | '.join(known)}]…")
        return 2
    names = words or (list(known) if "--all" in options else catalogue.CORE)
    if all(known[name].path.exists() for name in names):
        print(*(known[name].path for name in names), sep="\n")
        return 0
    from tests.rig import toolchain

    try:
        print(*ensure(names, version).values(), sep="\n")
    except toolchain.CannotBuild as error:
        say(f"cannot build the rig: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
