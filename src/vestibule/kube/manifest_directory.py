"""A directory of manifests as an embedded cluster: what ``kubectl apply -R -f`` would create exists.

Read whole, checked whole: ``load`` tells every problem of every file at once. On change the directory is read
again; a bad new state is told (``last_error``) and the last good one is kept. What is applied lives in memory
only and is never written to disk. The hard thing is the kubelet's way to update a mounted ConfigMap: files
are links through ``..data``, and one rename swaps them all, maybe while we read.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.errors import InputProblem, InvalidInput, LookupFailed
from vestibule.injection.facts import SourceObject
from vestibule.kube import manifest_object
from vestibule.kube.manifest_object import ObjectKey
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.ports import UNKNOWN, Unknown, WatchEvent
from vestibule.yamledit import yaml_documents

_log = logging.getLogger(__name__)

_READS: Final = 3
"""Times a directory is read until it held still meanwhile; the kubelet swaps once a minute at most."""


class _FileStamp(NamedTuple):
    """What tells that a file changed without reading it."""

    path: str
    inode: int
    changed: int
    modified: int
    size: int


class _DirectoryContent(NamedTuple):
    object: dict[str, Any]
    place: str


class DirectoryCluster:
    """Fulfils Reader, Cache, Watcher, and Writer (in memory). Knows nothing until ``load`` or ``check``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.last_error: InvalidInput | None = None
        """Why the directory as it is now cannot be used; None when it is in use."""
        self._store = MemoryCluster()
        self._stamps: tuple[_FileStamp, ...] | None = None
        self._loaded = False
        self.lookups: Mapping[tuple[str, str], int] = {}
        """Nothing is ever read live."""

    # ── reading the directory ─────────────────────────────────────────────────────────────────────────────

    def load(self) -> None:
        """Read the whole directory. Raises InvalidInput with all problems; the state before stays in use."""
        self._stamps = None
        try:
            found = self._read_still()
        except InvalidInput as error:
            self.last_error = error
            raise
        self._store.replace_all([*(entry.object for entry in found.values()), *self._applied(found)])
        self._loaded = True
        self.last_error = None

    def _read_still(self) -> dict[ObjectKey, _DirectoryContent]:
        """Read until the directory held still meanwhile, so that files before and after a swap never mix."""
        for attempt in range(_READS):
            before = _stamps(self.path)
            try:
                found = _read(before)
            except InvalidInput:
                if attempt == _READS - 1 or _stamps(self.path) == before:
                    self._stamps = before
                    raise
            else:
                if _stamps(self.path) == before:
                    break
        self._stamps = before
        return found

    def check(self) -> bool:
        """Read the directory again if anything in it changed; whether a new state is in use.

        Never raises for bad contents: they are in ``last_error``, and the last good state stays in use.
        """
        told = self.last_error.problems if self.last_error else ()
        try:
            if self._stamps is not None and _stamps(self.path) == self._stamps:
                return False
            self.load()
        except InvalidInput as error:
            if error is not self.last_error:  # not even listed: whatever stands there next is new
                self._stamps, self.last_error = None, error
            if error.problems != told:
                problems = [str(problem) for problem in error.problems]
                _log.warning(
                    "manifests are bad, the last good ones stay in use",
                    extra={"directory": str(self.path), "problems": problems},
                )
            return False
        return True

    def cache_metrics(self) -> dict[str, float]:
        """What the metrics show: how many objects of the reflected kinds there are."""
        return {
            f"cached_{kind.plural}": len(self.objects(kind)) for kind in (gvk.NAMESPACE, gvk.SERVICE_ACCOUNT)
        }

    def problem(self) -> str:
        """A directory that was read once is good; a bad change is in ``last_error`` and changes nothing."""
        return "" if self.synced else "not read yet"

    async def close(self) -> None:
        """Nothing is held open."""

    async def run(self, interval: float) -> None:
        """Check every ``interval`` seconds, for ever; the directory is small, so it is read in the loop."""
        while True:
            await asyncio.sleep(interval)
            self.check()

    def _applied(self, found: Mapping[ObjectKey, _DirectoryContent]) -> Iterator[dict[str, Any]]:
        """What was applied outlives a reload, unless a manifest of the same object stands there now."""
        for obj in self._store.applied:
            key = manifest_object.key_of(obj)
            if key is not None and key not in found:
                yield self._store.object(*key) or obj

    # ── Reader, Cache, Watcher, Writer ────────────────────────────────────────────────────────────────────

    @property
    def synced(self) -> bool:
        """See Cache: whether the directory has been read once without problems."""
        return self._loaded

    async def get(self, kind: Kind, namespace: str, name: str) -> SourceObject | None:
        """See Reader."""
        if not self._loaded:
            raise LookupFailed(str(manifest_object.key(kind, namespace, name)), f"{self.path} is not loaded")
        return await self._store.get(kind, namespace, name)

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> SourceObject | None | Unknown:
        """See Cache."""
        return self._store.peek(kind, namespace, name, uid) if self._loaded else UNKNOWN

    async def fetch(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """See ObjectLister."""
        return self.object(kind, namespace, name)

    async def listing(self, kind: Kind) -> list[dict[str, Any]]:
        """See ObjectLister."""
        return self.objects(kind)

    async def version(self) -> str:
        """See ObjectLister."""
        return ""

    def subscribe(self, callback: Callable[[WatchEvent], None]) -> Callable[[], None]:
        """See Watcher."""
        return self._store.subscribe(callback)

    async def apply(self, obj: Mapping[str, Any], *, field_manager: str, force: bool = False) -> None:
        """See Writer; kept in memory, never written to the directory."""
        await self._store.apply(obj, field_manager=field_manager, force=force)

    @property
    def applied(self) -> list[dict[str, Any]]:
        """What was applied, as it was sent, in order."""
        return self._store.applied

    def object(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """The whole object, or None."""
        return self._store.object(kind, namespace, name)

    def objects(self, kind: Kind) -> list[dict[str, Any]]:
        """All objects of a kind, by namespace and name."""
        return self._store.objects(kind)


def _stamps(root: Path) -> tuple[_FileStamp, ...]:
    """All manifest files, in order of their paths. Raises InvalidInput when there is no such directory."""
    return tuple(_stamp(path) for path in yaml_documents.files(root))


def _stamp(path: Path) -> _FileStamp:
    try:
        stat = path.stat()
    except OSError:  # a link to nothing, or gone since it was listed; reading will tell
        return _FileStamp(str(path), 0, 0, 0, 0)
    return _FileStamp(str(path), stat.st_ino, stat.st_ctime_ns, stat.st_mtime_ns, stat.st_size)


def _read(stamps: tuple[_FileStamp, ...]) -> dict[ObjectKey, _DirectoryContent]:
    """All objects of kinds that we know. Raises InvalidInput with all problems of all files."""
    found: dict[ObjectKey, _DirectoryContent] = {}
    problems: list[InputProblem] = []
    for stamp in stamps:
        try:
            documents, wrong = yaml_documents.documents(stamp.path, yaml_documents.read(Path(stamp.path)))
        except InvalidInput as error:
            problems.extend(error.problems)
            continue
        problems.extend(wrong)
        for document in documents:
            if document.value is not None:
                problems.extend(_take(document, found))
    if problems:
        raise InvalidInput(*problems)
    return found


def _take(
    document: yaml_documents.YamlDocument, found: dict[ObjectKey, _DirectoryContent]
) -> Iterator[InputProblem]:
    """Add the objects of one document to what was found; what is wrong with them is yielded."""
    for path, obj in manifest_object.flattened(document.value):
        flaws = list(manifest_object.flaws(obj))
        for flaw in flaws:
            where = (*path, *flaw.path)
            yield InputProblem(document.place(*where), manifest_object.field(where), flaw.text)
        key = None if flaws else manifest_object.key_of(obj)
        if key is None:
            continue
        place = document.place(*path)
        if key in found:
            yield InputProblem(place, str(key), f"stands at {found[key].place} already, want it once")
        else:
            found[key] = _DirectoryContent(obj, place)
