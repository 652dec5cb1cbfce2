"""Keys that want to be looked at: each once, not before its time, never twice at once.

A key that is added while it runs runs once more. One that fails comes back after a growing, jittered pause of
its own. The hard thing is fairness: a run that takes long gives its place in the front row to another, and
keys that were slow last time fill at most half of the house. So a hundred hanging guests stall nobody.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final, Generic, NamedTuple, TypeVar

from vestibule import jitter

K = TypeVar("K")
FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 60.0
CONFLICT_PAUSE: Final = 5.0
"""Longest pause after a conflict: nothing is wrong, somebody wrote after we read."""


class _Delayed(NamedTuple):
    due: float
    timer: asyncio.TimerHandle


class Queue(Generic[K]):
    """To be used within one event loop."""

    def __init__(
        self,
        *,
        workers: int = 4,
        most: int = 64,
        patience: float = 2.0,
        first_pause: float = FIRST_PAUSE,
        longest_pause: float = LONGEST_PAUSE,
    ) -> None:
        """``workers`` run at once, runs older than ``patience`` seconds not counted; ``most`` in all."""
        self._workers = workers
        self._most = most
        self._patience = patience
        self._first = first_pause
        self._longest = longest_pause
        self._ready: OrderedDict[K, None] = OrderedDict()
        self._running: dict[K, float] = {}
        self._dirty: set[K] = set()
        self._slow: set[K] = set()
        self._delayed: dict[K, _Delayed] = {}
        self._failures: dict[K, int] = {}
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        return len(self._ready) + len(self._dirty)

    @property
    def running(self) -> int:
        """Keys that are being looked at."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Keys whose time has not come."""
        return len(self._delayed)

    def add(self, key: K, after: float = 0.0) -> None:
        """Look at the key, at once or after some seconds; an earlier appointment stands."""
        if after > 0:
            self._later(key, after)
            return
        self._cancel(key)
        if key in self._running:
            self._dirty.add(key)
        else:
            self._ready[key] = None
            self._wake.set()

    async def get(self) -> K:
        """The next key; ``done`` must follow."""
        while True:
            key = self._next()
            if key is not None:
                return key
            self._wake.clear()
            await self._wake.wait()

    def done(self, key: K) -> None:
        """The look at the key has ended."""
        loop = asyncio.get_running_loop()
        took = loop.time() - self._running.pop(key)
        (self._slow.add if took > self._patience else self._slow.discard)(key)
        if key in self._dirty:
            self._dirty.discard(key)
            self._ready[key] = None
        self._wake.set()

    def back_off(self, key: K, longest: float = LONGEST_PAUSE) -> float:
        """Look again after a pause that grows with each failure, up to ``longest``; the seconds."""
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        pause = min(self._first * 2.0 ** min(count, 30), self._longest, longest)
        pause *= jitter.between(0.5, 1.0)
        self._later(key, pause)
        return pause

    def forget(self, key: K) -> None:
        """The key went well: its next failure is its first."""
        self._failures.pop(key, None)

    def drop(self, key: K) -> None:
        """Nothing is behind the key any more."""
        self.forget(key)
        self._cancel(key)
        self._slow.discard(key)

    def close(self) -> None:
        """No key comes any more."""
        for delayed in self._delayed.values():
            delayed.timer.cancel()
        self._delayed.clear()
        self._ready.clear()

    def _next(self) -> K | None:
        now = asyncio.get_running_loop().time()
        young = [now - since for since in self._running.values() if now - since < self._patience]
        if len(self._running) >= self._most:
            return None
        if len(young) >= self._workers:
            # one of them is old in a moment, and leaves its place to another
            asyncio.get_running_loop().call_later(self._patience - max(young) + 0.001, self._wake.set)
            return None
        crowded = len(self._slow & self._running.keys()) >= self._most // 2
        for key in self._ready:
            if not (crowded and key in self._slow):
                del self._ready[key]
                self._running[key] = now
                return key
        return None

    def _later(self, key: K, after: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + after
        known = self._delayed.get(key)
        if known is not None:
            if known.due <= due:
                return
            known.timer.cancel()
        self._delayed[key] = _Delayed(due, loop.call_at(due, self.add, key))

    def _cancel(self, key: K) -> None:
        delayed = self._delayed.pop(key, None)
        if delayed is not None:
            delayed.timer.cancel()
