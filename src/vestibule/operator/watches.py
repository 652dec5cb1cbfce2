"""Kinds that are listed and watched, and which keys a change of an object concerns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from vestibule.api.gvk import Kind
from vestibule.kube import api_requests
from vestibule.kube.client import Client
from vestibule.kube.informer import Informer

K = TypeVar("K")
Object = dict[str, Any]
_LOST_SECONDS: Final = 60.0
"""How long we may hear nothing of a kind before we stop calling ourselves ready."""


class Watch(NamedTuple, Generic[K]):
    """One kind."""

    kind: Kind
    keys: Callable[[Object], Iterable[K]]
    """Which keys an object concerns; called with its last state when it is gone."""
    scope: api_requests.ListScope = api_requests.EVERYWHERE
    optional: bool = False
    """Whether a cluster may not serve the kind."""


class Watches(Generic[K]):
    """All watches of one controller."""

    def __init__(self, client: Client, watches: Sequence[Watch[K]], tell: Callable[[K], None]) -> None:
        self._tell = tell
        self._followers = [
            Informer(client, watch.kind, self._teller(watch), scope=watch.scope, optional=watch.optional)
            for watch in watches
        ]

    def _teller(self, watch: Watch[K]) -> Callable[[str, Kind, Object], None]:
        def told(change: str, kind: Kind, obj: Object) -> None:
            del change, kind  # a key is looked at as it is now
            for key in watch.keys(obj):
                self._tell(key)

        return told

    def problem(self) -> str:
        """What keeps us from hearing of changes; empty when nothing does."""
        for one in self._followers:
            if not one.synced:
                return f"{one.kind} not listed yet{': ' + one.error if one.error else ''}"
            lost = one.lost_for()
            if lost > _LOST_SECONDS:
                return f"{one.kind} not watched for {lost:.0f} s: {one.error}"
        return ""

    def known(self, kind: Kind, namespace: str | None = None) -> Iterator[Object]:
        """What has been seen of a kind, in a namespace or in all."""
        for one in self._followers:
            if one.kind is kind:
                for place in one.store.namespaces() if namespace is None else (namespace,):
                    for name in sorted(one.store.names(place)):
                        found = one.store.get(place, name)
                        if found is not None:
                            yield found.object

    async def run(self) -> None:
        """Listen, for ever."""
        async with asyncio.TaskGroup() as group:
            for one in self._followers:
                group.create_task(one.run(), name=f"watch {one.kind}")
