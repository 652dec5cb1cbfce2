"""Keeps a store equal to what the API server holds of one kind: list in pages, then watch, for ever.

A broken, silent or ended watch goes on from the last version seen. Watches are short, because their end is
what tells a quiet one from one that hangs: bookmarks come once a minute only. A version that is no longer
kept (410) means a new list, whose difference to the store is told, deletions included. After failures, and
after watches that ended early, the next request waits for a jittered pause that grows until a watch has
lasted: an API server that answers and ends every watch at once is called no more often than one that does not
answer. Of a cluster that a tenant names, lists and watches are limited in size. While the API server is away
the store goes on answering: ``lost_for`` says for how long it has been on its own. What of an object is kept,
is decided by who derives from this.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Final, Generic, Literal, NamedTuple, NoReturn, TypeVar

import msgspec

from vestibule import errors, jitter
from vestibule.api.gvk import Kind
from vestibule.kube import api_requests, client
from vestibule.kube.client import Client
from vestibule.kube.slim_store import NamedObject, SlimStore

logger = logging.getLogger(__name__)

Change = Literal["added", "modified", "deleted"]
WATCH_SECONDS: Final = (18, 24)
"""A watch is asked to end by itself within this range, so that many replicas do not return at once. One that
does not hangs, which is thus noticed within 24 + 4 s; the next goes over the same connection, and costs the
API server three small requests a minute."""
_STEADY_SECONDS: Final = 5.0
"""A watch that lasted so long ends the growth of the pause; the next one begins at once."""
_GUARDED_BYTES: Final = 8 * 1024 * 1024
"""Of one list of a cluster that a tenant names, and of the watches until the next list: it could send pages
and events for ever, and what we follow there are a few objects of our own."""
_GUARDED_PAGES: Final = 50
_SLICE: Final = 100
"""Objects of a list that are taken in at a stretch: under a millisecond."""
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 15.0
T = TypeVar("T", bound=NamedObject)


class ListPage(NamedTuple, Generic[T]):
    """A part of a list."""

    items: Iterable[T]
    version: str
    token: str
    """Where the next page begins; empty: there is none."""


class _WatchChange(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _WatchFailure(msgspec.Struct):
    code: int = 0
    message: str = ""


_change = msgspec.json.Decoder(_WatchChange).decode
_failure = msgspec.json.Decoder(_WatchFailure).decode


class Reflector(ABC, Generic[T]):
    """One kind, kept in step."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        *,
        scope: api_requests.ListScope = api_requests.EVERYWHERE,
        optional: bool = False,
        clock: Callable[[], float] = time.monotonic,
        watch_seconds: tuple[int, int] = WATCH_SECONDS,
    ) -> None:
        """``optional``: a kind that the cluster does not serve has no objects. ``watch_seconds``: the range
        within which a watch is asked to end."""
        self.store: SlimStore[T] = SlimStore(kind)
        self.kind = kind
        self.synced = False
        """Whether a whole list has been seen."""
        self.error = ""
        """Why the API server is not being heard; empty while it is."""
        self.forbidden = False
        """Whether the last list was refused us; other than a login that fails, it will be again."""
        self.lists = 0
        self._client = client
        self._scope = scope
        self._optional = optional
        self._clock = clock
        self._watch_seconds = watch_seconds
        self._version = ""
        self._heard = clock()
        self._opened = math.inf
        """When the watch was opened; infinite: it was not."""
        self._taken = 0
        """Bytes received since the last list began."""

    @abstractmethod
    def _page(self, body: bytes) -> ListPage[T]:
        """A page of a list; raises MsgspecError when it is none."""

    @abstractmethod
    def _item(self, raw: msgspec.Raw) -> tuple[T, str]:
        """An object of a watch and its version; raises MsgspecError when it is none."""

    @abstractmethod
    def _told(self, change: Change, found: T) -> None:
        """Something changed."""

    @property
    def version(self) -> str:
        """Up to where everything was heard; empty: nothing yet, or nothing for sure."""
        return self._version

    def lost_for(self) -> float:
        """Seconds since the API server was last heard; 0 while a watch is open and alive."""
        return self._clock() - self._heard if self.error else 0.0

    async def run(self) -> NoReturn:
        """List and watch, for ever."""
        pause = _FIRST_PAUSE
        while True:
            self._opened = math.inf
            steady = False
            try:
                if not self._version:
                    await self._list()
                await self._watch()
                steady = self._is_steady()
            except errors.Gone:
                logger.info("watch too old, listing again", extra={"kind": str(self.kind)})
                self._version = ""
            except errors.NotFound:
                pause = _LONGEST_PAUSE  # somebody may install the kind later
            except (errors.Unavailable, errors.Forbidden) as error:
                self._note(str(error))
            if self._is_steady():
                pause = _FIRST_PAUSE
            if steady:
                continue  # the server ended the watch, as asked; go on at once
            await asyncio.sleep(pause * jitter.between(0.5, 1.0))
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _is_steady(self) -> bool:
        """Whether the watch that ended had lasted."""
        return self._clock() - self._opened >= _STEADY_SECONDS

    async def _list(self) -> None:
        """Read everything; nothing is forgotten before the last page is in."""
        unseen: dict[str, set[str]] = {}
        token = ""
        self._taken = 0
        for number in itertools.count(1):
            answer = await self._client.send(api_requests.list_page(self.kind, token, self._scope))
            self.forbidden = answer.status == 403
            if answer.status == 404 and self._optional:
                self._finish({}, "")
                raise errors.NotFound(f"{self.kind} is not served")
            if answer.status != 200:
                client.raise_for(answer, f"list {self.kind}")
            self._take(len(answer.body), number)
            try:
                page = self._page(answer.body)
            except msgspec.MsgspecError as error:
                raise errors.Unavailable(f"list {self.kind}: the answer is cut or no list") from error
            for position, found in enumerate(page.items):
                if position % _SLICE == 0:
                    await asyncio.sleep(0)  # requests are served in between
                names = unseen.get(found.namespace)
                if names is None:
                    names = unseen[found.namespace] = self.store.names(found.namespace)
                names.discard(found.name)
                self._put(found)
            token = page.token
            if not token:
                break
        self._finish(unseen, page.version)

    def _take(self, size: int, pages: int = 0) -> None:
        """Count what was received; of a guarded cluster no more than we take. Raises Unavailable."""
        self._taken += size
        if self._client.access.guard is None:
            return
        if self._taken > _GUARDED_BYTES or pages > _GUARDED_PAGES:
            self._version = ""  # a new list says what is there now
            raise errors.Unavailable(f"{self.kind}: the cluster sends more than we take")

    def _finish(self, unseen: dict[str, set[str]], version: str) -> None:
        """A list is complete: what it did not have is gone."""
        for namespace in self.store.namespaces():
            names = unseen.get(namespace)
            for name in self.store.names(namespace) if names is None else names:
                self._drop(namespace, name)
        self._version = version
        self.lists += 1
        self.synced = True
        self._alive()

    async def _watch(self) -> None:
        seconds = jitter.integer(*self._watch_seconds)
        call = api_requests.watch(self.kind, self._version, seconds, self._scope)
        async for line in self._client.lines(call, seconds):
            if not line:
                self._alive()  # the watch is open
                self._opened = self._clock()
                continue
            self._take(len(line))
            try:
                change = _change(line)
                if change.type == "ERROR":
                    self._refused(change.object)
                found, version = self._item(change.object)
            except msgspec.MsgspecError as error:
                raise errors.Unavailable(f"watch {self.kind}: an event is cut or none") from error
            self._alive()
            if change.type in ("ADDED", "MODIFIED"):
                self._put(found)
            elif change.type == "DELETED":
                self._drop(found.namespace, found.name)
            self._version = version or self._version

    def _refused(self, raw: msgspec.Raw) -> NoReturn:
        failure = _failure(raw)
        if failure.code == 410:
            raise errors.Gone(failure.message)
        raise errors.Unavailable(f"watch {self.kind}: status {failure.code} {failure.message}")

    def _put(self, found: T) -> None:
        before = self.store.put(found)
        if before is None:
            self._told("added", found)
        elif before != found:
            self._told("modified", found)

    def _drop(self, namespace: str, name: str) -> None:
        before = self.store.drop(namespace, name)
        if before is not None:
            self._told("deleted", before)

    def _alive(self) -> None:
        self._heard = self._clock()
        if self.error:
            logger.info("API server heard again", extra={"kind": str(self.kind)})
            self.error = ""

    def _note(self, error: str) -> None:
        if error != self.error:
            logger.warning("API server not heard", extra={"kind": str(self.kind), "error": error})
        self.error = error
