"""Listens to guests: one watch each, of our registration there.

What pods of a guest depend on is that registration, so its loss is put right at once. The other objects there
are looked at with every resync: a watch for each of them would be a connection for each, in every guest.
Guests beyond a number are not listened to, and the resync serves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from vestibule.adapters.cluster import calls
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.whole import Wholes
from vestibule.apps.operator.runtime import difference
from vestibule.core.kinds.gvk import Kind
from vestibule.core.native import kinds

_SECONDS: Final = (240, 300)
"""A watch is asked to end by itself within this range; looks find out sooner whether a guest lives."""
MOST: Final = 200
"""Guests that are listened to: an open connection over TLS holds a quarter of a MiB."""


class _Ear(Wholes):
    """Tells, too, when the guest is not heard any more, and when it is again."""

    def __init__(self, client: Client, owner: str, tell: Callable[[], None]) -> None:
        def told(change: str, kind: Kind, obj: dict[str, Any]) -> None:
            del change, kind, obj  # a key is looked at as it is now
            tell()

        scope = calls.Scope(selector=f"{difference.OWNER}={owner}")
        super().__init__(client, kinds.MUTATING, told, scope=scope, watch_seconds=_SECONDS)
        self._noticed = tell

    def _note(self, error: str) -> None:
        heard = not self.error
        super()._note(error)
        if heard:
            self._noticed()

    def _alive(self) -> None:
        back = bool(self.error)
        super()._alive()
        if back:
            self._noticed()


class _Listening(NamedTuple):
    client: Client
    task: asyncio.Task[None]


class Listening:
    """The watches, by key; to be closed."""

    def __init__(self, tell: Callable[[str], None], most: int = MOST) -> None:
        self._tell = tell
        self._most = most
        self._by_key: dict[str, _Listening] = {}

    def begin(self, key: str, client: Client, owner: str) -> None:
        """Listen to the guest behind a client; nothing, if we do."""
        known = self._by_key.get(key)
        if known is not None and known.client is client and not known.task.done():
            return
        self.end(key)
        if len(self._by_key) >= self._most:
            return
        ear = _Ear(client, owner, lambda: self._tell(key))
        self._by_key[key] = _Listening(client, asyncio.create_task(ear.run(), name=f"guest {key}"))

    def end(self, key: str) -> None:
        """Do not listen any more."""
        known = self._by_key.pop(key, None)
        if known is not None:
            known.task.cancel()

    async def close(self) -> None:
        """End all."""
        tasks = [one.task for one in self._by_key.values()]
        for key in list(self._by_key):
            self.end(key)
        await asyncio.gather(*tasks, return_exceptions=True)
