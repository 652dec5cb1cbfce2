"""The cluster as the rest of the house sees it: four small roles, nothing about where objects come from.

Three back ends fill these roles: a live API server, a directory of manifests, and memory. One contract suite
(``tests/contract``) runs over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from vestibule.api.gvk import Kind
from vestibule.injection.facts import UNKNOWN, SourceObject, Unknown

__all__ = [
    "UNKNOWN",
    "Cache",
    "ObjectLister",
    "Reader",
    "Unknown",
    "WatchEvent",
    "WatchedCache",
    "Watcher",
    "Writer",
]


class WatchEvent(NamedTuple):
    """One change, as a watcher tells it."""

    change: Literal["added", "modified", "deleted"]
    kind: Kind
    source: SourceObject


class Reader(Protocol):
    """Reads one object from where the truth is."""

    async def get(self, kind: Kind, namespace: str, name: str) -> SourceObject | None:
        """The object, or None when it does not exist.

        Raises LookupFailed when it could not be read (the object may exist) and Forbidden when we may not
        read it.
        """
        ...


class Cache(Protocol):
    """Answers at once, without await, from what is already here."""

    @property
    def synced(self) -> bool:
        """Whether everything that exists has been seen at least once."""
        ...

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> SourceObject | None | Unknown:
        """The object; None when it surely does not exist; UNKNOWN when a Reader must be asked. ``uid`` is the
        one that is meant: a cached object with another one is out of date."""
        ...


class Watcher(Protocol):
    """Tells what changed."""

    def subscribe(self, callback: Callable[[WatchEvent], None]) -> Callable[[], None]:
        """Call back on every change from now on; the returned function ends it. A callback must not raise."""
        ...


class WatchedCache(Cache, Watcher, Protocol):
    """A cache that tells when it changed."""


class ObjectLister(Protocol):
    """Reads what administrators write for us, whole; rarely, and never while a pod waits."""

    async def fetch(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """The whole object, or None when it does not exist. Raises as ``Reader.get``."""
        ...

    async def listing(self, kind: Kind) -> list[dict[str, Any]]:
        """All objects of a kind, by name; none when the cluster does not know the kind. Raises as ``get``."""
        ...

    async def version(self) -> str:
        """Version of the API server; empty when there is none to ask."""
        ...


class Writer(Protocol):
    """Writes objects, by server-side apply only."""

    async def apply(self, obj: Mapping[str, Any], *, field_manager: str, force: bool = False) -> None:
        """Create or update the object.

        Raises Conflict when another manager owns a field (never with force), Forbidden when we may not write,
        Unavailable when it should be tried again.
        """
        ...
