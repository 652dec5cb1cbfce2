"""A directory as a place for documents: for a web server of your own, or to carry them elsewhere.

A document is replaced as a whole: written to a temporary file, flushed, renamed. Symbolic links below the
directory are not followed, since they could point anywhere. The ETag is the content's own digest; a lock on
the directory makes "compare and write" one step among programs that use it too.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn

from vestibule import errors
from vestibule.clouds.objectstore import ports

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Directory:
    """Documents below one directory, which is made when it is missing."""

    served = False

    def __init__(self, path: Path, *, mode: int = 0o644, folder_mode: int = 0o755) -> None:
        self._path, self._mode, self._folder_mode = path, mode, folder_mode

    @property
    def where(self) -> str:
        """The path."""
        return str(self._path)

    def read(self, name: str) -> ports.StoredObject | None:
        """The document; None when there is none."""
        ports.checked(name)
        if not self._path.exists():
            return None
        try:
            with self._root() as root, _parent(root, name) as (folder, last):
                return self._stored(folder, last, name)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._failed(error, name)

    def write(self, name: str, content: ports.Content, *, if_match: str | None = None) -> str:
        """Replace the document at once; a directory keeps neither type nor tags."""
        ports.checked(name)
        try:
            self._path.mkdir(self._folder_mode, parents=True, exist_ok=True)
            with self._root() as root, _parent(root, name, self._folder_mode) as (folder, last):
                self._compare(folder, last, name, if_match)
                self._replace(folder, last, content.body)
        except OSError as error:
            self._failed(error, name)
        return _etag(content.body)

    def remove(self, name: str, *, if_match: str | None = None) -> bool:
        """Remove the document; empty folders stay."""
        ports.checked(name)
        try:
            with self._root() as root, _parent(root, name) as (folder, last):
                if self._stored(folder, last, name) is None:
                    return False
                self._compare(folder, last, name, if_match)
                os.unlink(last, dir_fd=folder)
                os.fsync(folder)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._failed(error, name)
        return True

    @contextlib.contextmanager
    def _root(self) -> Iterator[int]:
        """The directory, locked. It may itself be reached through a link: that is its owner's choice."""
        root = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(root, fcntl.LOCK_EX)
            yield root
        finally:
            os.close(root)

    def _stored(self, folder: int, last: str, name: str) -> ports.StoredObject | None:
        try:
            file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except FileNotFoundError:
            return None
        with os.fdopen(file, "rb") as opened:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(errno.EINVAL, "is no regular file")
            body = opened.read(ports.LARGEST + 1)
        if len(body) > ports.LARGEST:
            raise ports.too_large(self.where, name)
        return ports.StoredObject(body, _etag(body))

    def _compare(self, folder: int, last: str, name: str, if_match: str | None) -> None:
        found = self._stored(folder, last, name)
        has = ports.ABSENT if found is None else found.etag
        if if_match is not None and has != if_match:
            raise ports.changed(self.where, name)

    def _replace(self, folder: int, last: str, body: bytes) -> None:
        temporary = f".{last}.{secrets.token_hex(6)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(temporary, flags, self._mode, dir_fd=folder)
        with contextlib.ExitStack() as undo:
            undo.callback(os.unlink, temporary, dir_fd=folder)
            with os.fdopen(file, "wb") as opened:
                opened.write(body)
                opened.flush()
                os.fsync(file)
            os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
            undo.pop_all()
        os.fsync(folder)

    def _failed(self, error: OSError, name: str) -> NoReturn:
        place = f"{self.where}: {name}"
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise errors.Forbidden(
                f"{place}: leads through a symbolic link or a file, want folders"
            ) from error
        if isinstance(error, PermissionError) or error.errno == errno.EROFS:
            raise errors.Forbidden(f"{place}: {error.strerror}") from error
        raise errors.Unavailable(f"{place}: {error.strerror or error}") from error


@contextlib.contextmanager
def _parent(root: int, name: str, make: int | None = None) -> Iterator[tuple[int, str]]:
    """The folder of a name, reached step by step without following a link, and the name's last part."""
    *folders, last = name.split("/")
    here = os.dup(root)
    try:
        for folder in folders:
            if make is not None:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, make, dir_fd=here)
            below = os.open(folder, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here, last
    finally:
        os.close(here)


def _etag(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
