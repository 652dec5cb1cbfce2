"""What we see of the cluster: watched kinds, kinds that come to be watched, and what we wrote a moment ago.

An embedded kind is watched from the moment an ARO object names it in its annotation, so also after a restart
and while something is deleted. What we wrote counts until its watch tells of it, or of something newer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.aro.embedded import Gvk
from vestibule.kube.client import Client
from vestibule.kube.discovery import Discovery
from vestibule.kube.informer import Informer

logger = logging.getLogger(__name__)
Object = dict[str, Any]
Keys = Callable[[Object], Iterable[str]]
_SYNC_SECONDS: Final = 10.0
"""For the first list of a kind that comes to be watched."""
_LOST_SECONDS: Final = 60.0


class AroInformers:
    """All watches, and the memory of our own writes."""

    def __init__(self, client: Client, discovery: Discovery, tell: Callable[[str], None]) -> None:
        self._client = client
        self._discovery = discovery
        self._tell = tell
        self._followers: dict[Kind, Informer] = {}
        self._tasks: dict[Kind, asyncio.Task[None]] = {}
        self._written: dict[tuple[Kind, str], dict[str, Object]] = {}
        """By kind and namespace, what we wrote and the watch has not told of."""
        self._gone: dict[tuple[Kind, str, str], str] = {}
        """Uids of what went with a write of ours, until the watch tells."""

    def watch(self, kind: Kind, keys: Keys) -> None:
        """Listen to a kind from now on; nothing, if we do."""
        if kind in self._followers:
            return

        def told(change: str, _: Kind, obj: Object) -> None:
            del change  # a key is looked at as it is now
            for key in keys(obj):
                self._tell(key)

        follower = Informer(self._client, kind, told, optional=True, managed=True)
        self._followers[kind] = follower
        task = asyncio.create_task(follower.run(), name=f"watch {kind}")
        self._tasks[kind] = task
        task.add_done_callback(lambda ended: self._ended(kind, ended))
        logger.info("watching", extra={"kind": str(kind)})

    def _ended(self, kind: Kind, task: asyncio.Task[None]) -> None:
        """A watch runs until it is cancelled. One that ended otherwise is forgotten, so that nobody believes
        what it saw, and the next reconcile begins it again."""
        if task.cancelled() or self._tasks.get(kind) is not task:
            return
        error = task.exception()
        logger.error("watch ended", extra={"kind": str(kind), "error": type(error).__qualname__})
        self._tasks.pop(kind, None)
        self._followers.pop(kind, None)

    async def watched(self, gvk: Gvk, keys: Keys) -> Kind | None:
        """The kind, listened to and listed; None when the cluster does not serve it. Raises Unavailable."""
        kind = self._any(gvk) or await self._discovery.find(*gvk)
        if kind is None:
            return None
        self.watch(kind, keys)
        follower = self._followers[kind]
        try:
            async with asyncio.timeout(_SYNC_SECONDS):
                while not follower.synced:
                    if follower.error:
                        raise errors.Unavailable(f"listing {kind}: {follower.error}")
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise errors.Unavailable(f"{kind} is not listed yet") from None
        return kind

    def kind(self, gvk: Gvk) -> Kind | None:
        """A kind that is listened to and listed."""
        found = self._any(gvk) or self._discovery.at_hand(*gvk)
        follower = self._followers.get(found) if found is not None else None
        return found if follower is not None and follower.synced else None

    def _any(self, gvk: Gvk) -> Kind | None:
        """Where no version is asked for, one that is listened to: the API server converts them all."""
        if gvk.version:
            return None
        return next((one for one in self._followers if (one.group, one.kind) == (gvk.group, gvk.kind)), None)

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """The object as we know it."""
        found = self._unheard(kind, namespace, name)
        if found is None:
            heard = self._followers[kind].store.get(namespace, name)
            found = heard.object if heard else None
        if self._gone and (kind, namespace, name) in self._gone:
            if found is not None and found["metadata"].get("uid") == self._gone[kind, namespace, name]:
                return None
            del self._gone[kind, namespace, name]
        return found

    def list(self, kind: Kind, namespace: str | None = None) -> Iterator[Object]:
        """All objects of a kind, in a namespace or in all."""
        store = self._followers[kind].store
        for place in store.namespaces() if namespace is None else (namespace,):
            names = set(store.names(place))
            names |= self._written.get((kind, place), {}).keys()
            for name in sorted(names):
                found = self.get(kind, place, name)
                if found is not None:
                    yield found

    def _unheard(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """What we wrote, until the watch is as far: then it knows better, also that it is gone."""
        there = self._written.get((kind, namespace))
        written = there.get(name) if there is not None else None
        if there is None or written is None:
            return None
        if _number(self._followers[kind].version) < _number(written["metadata"]["resourceVersion"]):
            return written
        del there[name]
        if not there:
            del self._written[kind, namespace]
        return None

    def wrote(self, kind: Kind, obj: Object) -> None:
        """What the API server answered to a write of ours."""
        meta = obj["metadata"]
        namespace, name = str(meta.get("namespace") or ""), str(meta["name"])
        follower = self._followers.get(kind)
        if follower is not None and _number(follower.version) < _number(meta["resourceVersion"]):
            self._written.setdefault((kind, namespace), {})[name] = obj

    def went(self, kind: Kind, obj: Object) -> None:
        """The API server removed it with a write of ours."""
        meta = obj["metadata"]
        self._gone[kind, str(meta.get("namespace") or ""), str(meta["name"])] = str(meta.get("uid"))

    def problem(self) -> str:
        """What keeps us from hearing of changes; empty when nothing does."""
        for one in self._followers.values():
            if self._tasks[one.kind].done():
                return f"{one.kind}: the watch has ended"
            if not one.synced:
                return f"{one.kind} not listed yet{': ' + one.error if one.error else ''}"
            lost = one.lost_for()
            if lost > _LOST_SECONDS:
                return f"{one.kind} not watched for {lost:.0f} s: {one.error}"
        return ""

    async def close(self) -> None:
        """Listen to nothing any more."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _number(version: str) -> int:
    """Versions of one kind can be compared, as numbers."""
    return int(version) if version.isdigit() else 0
