"""Listens in guests for what becomes of our objects there.

Each guest has one watch, of our registration, by which pods are served; it tells, too, when the guest goes
and comes back. What is left of the streams that we allow ourselves goes to the other kinds, whole guests at a
time: a stream over TLS holds a third to half a MiB in asyncio, so five of them in 500 guests would be a GiB.
What is not listened to is looked at with every resync.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.kube import api_requests
from vestibule.kube.client import Client
from vestibule.kube.informer import Informer
from vestibule.manifests import kinds
from vestibule.operator import drift
from vestibule.operator.controllers.hosted import finalize

logger = logging.getLogger(__name__)
_SECONDS: Final = (240, 300)
"""A watch is asked to end by itself within this range; looks find out sooner whether a guest lives."""
MOST: Final = 200
"""Streams in all: 200 guests are heard when their registrations change, 40 whatever of ours changes."""
REST: Final = (*finalize.GUEST[1:], (gvk.NAMESPACE, ""))
"""Kinds and namespaces that are listened to besides the registration, where there is room."""
_REST_SECONDS: Final = 60.0
"""Between two ends before their time that are told: a load balancer may end every stream early."""


class _HostedInformer(Informer):
    """Hears our objects of one kind."""

    def __init__(
        self, client: Client, kind: Kind, namespace: str, owner: str, tell: Callable[[], None]
    ) -> None:
        def told(change: str, kind: Kind, obj: dict[str, Any]) -> None:
            del change, kind, obj  # a key is looked at as it is now
            tell()

        scope = api_requests.ListScope(namespace, f"{drift.OWNER}={owner}")
        super().__init__(client, kind, told, scope=scope, watch_seconds=_SECONDS)
        self._noticed = tell


class _LeadingInformer(_HostedInformer):
    """Tells, too, when the guest is not heard any more, when it is again, and when a watch ends before its
    time: one API server of several went away, and may come back with other keys."""

    def __init__(self, client: Client, owner: str, tell: Callable[[], None]) -> None:
        super().__init__(client, kinds.MUTATING, "", owner, tell)
        self._told_end = -_REST_SECONDS

    async def _watch(self) -> None:
        began = self._clock()
        await super()._watch()
        now = self._clock()
        if now - began < _SECONDS[0] - 1 and now - self._told_end >= _REST_SECONDS:
            self._told_end = now
            self._noticed()

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


class _HostedWatches:
    """One guest and the streams to it."""

    def __init__(self, client: Client, first: asyncio.Task[None]) -> None:
        self.client = client
        self.first = first
        self.rest: list[asyncio.Task[None]] = []

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """All of them."""
        return [self.first, *self.rest]


class HostedInformers:
    """The watches, by key; to be closed."""

    def __init__(self, tell: Callable[[str], None], most: int = MOST) -> None:
        self._tell = tell
        self._most = most
        self._by_key: dict[str, _HostedWatches] = {}

    @property
    def streams(self) -> dict[str, int]:
        """How many there are to each guest."""
        return {key: len(one.tasks) for key, one in self._by_key.items()}

    def begin(self, key: str, client: Client, owner: str) -> None:
        """Listen to the guest behind a client, as far as there is room; nothing, if we do."""
        known = self._by_key.get(key)
        if known is None or known.client is not client or known.first.done():
            self.end(key)
            if not self._room():
                return
            known = _HostedWatches(
                client, self._run(key, _LeadingInformer(client, owner, lambda: self._tell(key)))
            )
            self._by_key[key] = known
        if not known.rest and sum(self.streams.values()) + len(REST) <= self._most:
            known.rest = [
                self._run(key, _HostedInformer(client, kind, namespace, owner, lambda: self._tell(key)))
                for kind, namespace in REST
            ]

    def _run(self, key: str, ear: _HostedInformer) -> asyncio.Task[None]:
        task = asyncio.create_task(ear.run(), name=f"guest {key} {ear.kind}")
        task.add_done_callback(lambda ended: self._ended(key, ended))
        return task

    def _ended(self, key: str, task: asyncio.Task[None]) -> None:
        """A watch runs until it is cancelled. Where one ended otherwise, the next reconcile of its hosted
        cluster begins all of them again."""
        known = self._by_key.get(key)
        if task.cancelled() or known is None or task not in known.tasks:
            return
        error = task.exception()
        logger.error("watch ended", extra={"hosted": key, "error": type(error).__qualname__})
        self.end(key)

    def _room(self) -> bool:
        """Whether there is room for the registration of one more guest; who has more than that gives it."""
        if sum(self.streams.values()) < self._most:
            return True
        rich = next((one for one in reversed(self._by_key.values()) if one.rest), None)
        if rich is None:
            return False
        for task in rich.rest:
            task.cancel()
        rich.rest = []
        return True

    def end(self, key: str) -> None:
        """Do not listen any more."""
        known = self._by_key.pop(key, None)
        for task in known.tasks if known is not None else ():
            task.cancel()

    async def close(self) -> None:
        """End all."""
        tasks = [task for one in self._by_key.values() for task in one.tasks]
        for key in list(self._by_key):
            self.end(key)
        await asyncio.gather(*tasks, return_exceptions=True)
