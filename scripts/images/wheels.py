"""Wheels by the lock file: fetched once, every one checked against its hash, unpacked without an installer.

An installer writes times, paths and scripts of its own; a wheel that is unpacked is the same everywhere.
"""

from __future__ import annotations

import email.parser
import email.policy
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from email.message import Message
from pathlib import Path
from typing import NamedTuple

_REQUIREMENT = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class Locked(NamedTuple):
    """A line of the lock file."""

    name: str
    version: str
    hashes: frozenset[str]


class Wheel(NamedTuple):
    """A wheel that is the one of the lock file."""

    path: Path
    name: str
    version: str
    sha256: str
    metadata: Message[str, str]


class NotLocked(Exception):
    """A wheel that the lock file does not know, or one that is missing."""


def canonical(name: str) -> str:
    """A name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lock: Path) -> dict[str, Locked]:
    """The lock file by name."""
    found: dict[str, Locked] = {}
    text = lock.read_text("utf-8")
    starts = list(_REQUIREMENT.finditer(text))
    for match, following in zip(starts, [*starts[1:], None], strict=True):
        part = text[match.start() : following.start() if following else len(text)]
        name = canonical(match[1])
        found[name] = Locked(name, match[2], frozenset(_HASH.findall(part)))
    return found


def cache(lock: Path) -> Path:
    """Where wheels for this lock file and this interpreter are kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    digest = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:16]
    return base / "vestibule" / "wheels" / digest


def fetch(lock: Path, folder: Path) -> Path:
    """Fill the folder once, from the index that pip is set up for; pip checks the hashes, too."""
    if not folder.exists():
        unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
        unfinished.mkdir(parents=True)
        words = ["download", "-q", "--disable-pip-version-check", "--require-hashes", "--no-deps"]
        command = [sys.executable, "-m", "pip", *words, "--only-binary", ":all:"]
        try:
            subprocess.run([*command, "-d", str(unfinished), "-r", str(lock)], check=True)
            unfinished.replace(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def chosen(lock: Path, folder: Path) -> list[Wheel]:
    """The wheels of the folder, each checked; raises NotLocked with every problem."""
    known, found, problems = locked(lock), [], []
    for path in sorted(folder.glob("*.whl")):
        name, version = path.name.split("-")[:2]
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        line = known.get(canonical(name))
        if line is None or line.version != version or digest not in line.hashes:
            problems.append(f"{path.name} (sha256 {digest}) is not in {lock.name}")
            continue
        found.append(Wheel(path, canonical(name), version, digest, _metadata(path)))
    if not found and not problems:
        problems.append(f"{folder} holds no wheel")
    if problems:
        raise NotLocked("; ".join(problems))
    return found


def _metadata(path: Path) -> Message[str, str]:
    with zipfile.ZipFile(path) as archive:
        [name] = [name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
        text = archive.read(name).decode("utf-8")
    return email.parser.Parser(policy=email.policy.compat32).parsestr(text)


def requires(wheel: Wheel, extras: Iterable[str] = ()) -> list[tuple[str, frozenset[str]]]:
    """Names and extras that a wheel asks for on this interpreter."""
    from packaging.requirements import Requirement

    requested = []
    for line in wheel.metadata.get_all("Requires-Dist") or ():
        requirement = Requirement(str(line))
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            requested.append((canonical(requirement.name), frozenset(requirement.extras)))
    return requested


def closure(wheels: Iterable[Wheel], roots: Iterable[str]) -> list[Wheel]:
    """The wheels that the roots (names, with extras in brackets) need, and no others."""
    from packaging.requirements import Requirement

    by_name: Mapping[str, Wheel] = {wheel.name: wheel for wheel in wheels}
    queue = []
    for root in roots:
        requested = Requirement(root)
        if requested.marker is None or requested.marker.evaluate():
            queue.append((canonical(requested.name), frozenset(requested.extras)))
    seen: dict[str, frozenset[str]] = {}
    while queue:
        name, extras = queue.pop()
        if name in seen and extras <= seen[name]:
            continue
        seen[name] = seen.get(name, frozenset()) | extras
        if name not in by_name:
            raise NotLocked(f"{name} is asked for and not among the wheels")
        queue += requires(by_name[name], seen[name])
    return [wheel for wheel in by_name.values() if wheel.name in seen]


def unpack(wheel: Wheel, target: Path) -> None:
    """The files that Python imports; scripts, headers and the record of an installer are left out."""
    with zipfile.ZipFile(wheel.path) as archive:
        for entry in archive.infolist():
            name = entry.filename
            parts = name.split("/")
            if parts[0].endswith(".data"):
                if len(parts) < 3 or parts[1] not in ("purelib", "platlib"):
                    continue
                name = "/".join(parts[2:])
            if entry.is_dir() or name.startswith("/") or ".." in name.split("/"):
                continue
            if name.endswith((".dist-info/RECORD", ".pyc")):
                continue
            where = target / name
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_bytes(archive.read(entry))
            if name.endswith(".so") or ".so." in name:
                where.chmod(0o755)
