"""Files that only their owner may read, at every moment: keys, and the state of a run.

The mode is given when the file is created, so the umask can only take away. Nothing is followed: a link under
the name of a key is refused, and a failed write leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from vestibule import errors
from vestibule.errors import InputProblem

PRIVATE: Final = 0o600
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def create(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Write a file that does not exist yet. Raises InvalidInput when it does (a link counts), OSError."""
    try:
        file = os.open(path, _NEW, mode)
    except FileExistsError:
        raise errors.InvalidInput(InputProblem(str(path), "", "exists already, want a new file")) from None
    with contextlib.ExitStack() as undo:
        undo.callback(path.unlink, missing_ok=True)
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(file)
        undo.pop_all()
    flush(path.parent)


def replace(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Write a file as a whole, in place of an older one if there is one. Raises InvalidInput for a link,
    OSError; then the older one is as it was."""
    if path.is_symlink():
        raise errors.InvalidInput(InputProblem(str(path), "", "is a symbolic link, want a file"))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    with contextlib.ExitStack() as undo:
        undo.callback(temporary.unlink, missing_ok=True)
        create(temporary, content, mode)
        temporary.replace(path)
        undo.pop_all()
    flush(path.parent)


def read(path: Path, largest: int = 1024 * 1024) -> bytes | None:
    """The file; None when there is none. Raises InvalidInput for a link or a file too large, OSError."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if path.is_symlink():
            raise errors.InvalidInput(
                InputProblem(str(path), "", "is a symbolic link, want a file")
            ) from error
        raise
    with os.fdopen(file, "rb") as opened:
        content = opened.read(largest + 1)
    if len(content) > largest:
        raise errors.InvalidInput(InputProblem(str(path), "", f"has more than {largest} bytes"))
    return content


def folder(path: Path, mode: int = 0o700) -> None:
    """Make a directory and those above it; one that exists keeps its mode. Raises OSError."""
    path.mkdir(mode, parents=True, exist_ok=True)


def flush(path: Path) -> None:
    """Make the names in a directory last over a power cut, where the file system can."""
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def put(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Write a requested output file: a file that exists keeps its mode, and is as it was
    when writing fails; a pipe or a device is written to. Raises OSError."""
    real = path.resolve()
    if real.exists() and not real.is_file():
        with real.open("wb") as opened:
            opened.write(content)
        return
    existing_mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else None
    temporary = real.with_name(f".{real.name}.{secrets.token_hex(6)}")
    with contextlib.ExitStack() as undo:
        undo.callback(temporary.unlink, missing_ok=True)
        create(temporary, content, mode if existing_mode is None else PRIVATE)
        if existing_mode is not None:
            temporary.chmod(existing_mode)
        temporary.replace(real)
        undo.pop_all()
    flush(real.parent)
