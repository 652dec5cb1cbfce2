"""A copy of the running CPython and the shared libraries it needs: no shell, no package manager, no tests."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
PREFIX: Final = "usr/local"
_UNUSED: Final = {
    "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "distutils",
    "site-packages", "dist-packages", "venv", "__phello__", "__pycache__", "curses", "sqlite3", "dbm",
}  # fmt: skip
"""Folders of the standard library that no process of ours imports."""
_UNUSED_FILES: Final = re.compile(
    r"(turtle|antigravity|this|__hello__|sitecustomize|usercustomize)\.py"
    r"|(_test|_ctypes_test|xx|_xx|_tkinter|_curses|readline|_dbm|_gdbm|_sqlite3|_crypt|nis|ossaudiodev).*\.so"
    r"|.*\.(a|pyc|exe|bat)|EXTERNALLY-MANAGED"
)
_FOUND: Final = re.compile(r"^\s*(?:(\S+) => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)
_MISSING: Final = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)


class Incomplete(Exception):
    """A library that nobody has."""


def copy(root: Path) -> None:
    """Program and standard library below ``root``."""
    program = root / PREFIX / "bin" / f"python{VERSION}"
    program.parent.mkdir(parents=True)
    shutil.copyfile(Path(sys._base_executable).resolve(), program)  # type: ignore[attr-defined]
    program.chmod(0o755)
    (program.parent / "python3").symlink_to(program.name)
    library = Path(sysconfig.get_path("stdlib"))
    target = root / PREFIX / "lib" / f"python{VERSION}"
    for path in _kept(library):
        where = target / path.relative_to(library)
        where.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, where)
        where.chmod(0o755 if path.suffix == ".so" else 0o644)


def _kept(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name not in _UNUSED and not path.name.startswith("config-"):
                yield from _kept(path)
        elif not _UNUSED_FILES.fullmatch(path.name):
            yield path


def libraries(root: Path) -> list[Path]:
    """Copy what the programs and modules below ``root`` are linked with, to where the loader of libc looks;
    the originals. Raises Incomplete."""
    expected = sorted(path for path in root.rglob("*") if path.is_file() and _linked(path))
    found: dict[str, Path] = {}
    missing: set[str] = set()
    for name, path in _needed(expected):
        if path is None:
            missing.add(name)
        elif not path.is_relative_to(root):
            found.setdefault(name, path)
    if missing:
        raise Incomplete(f"not found: {', '.join(sorted(missing))}")
    home = next(path.parent for name, path in found.items() if name.startswith("libc.so"))
    for name, path in found.items():
        # the loader is named by its path, everything else is looked for where libc is
        where = root / (path if name == str(path) else home / name).relative_to("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path.resolve(), where)
        where.chmod(0o755)
    return sorted(found.values())


def _linked(path: Path) -> bool:
    if path.is_symlink():
        return False
    with path.open("rb") as content:
        return content.read(4) == b"\x7fELF"


def _needed(paths: Iterable[Path]) -> Iterator[tuple[str, Path | None]]:
    for path in paths:
        reported = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False).stdout
        for name, where in _FOUND.findall(reported):
            yield name or where, Path(where)
        for name in _MISSING.findall(reported):
            yield name, None
