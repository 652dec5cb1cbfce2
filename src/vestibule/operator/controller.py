"""Looks at keys, one run each, as many at once as the queue allows.

A run that raises comes back after a pause of its own; one that takes too long is cut. The guard against every
failure is here: one key never takes the others with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Generic, NoReturn, Protocol, TypeVar

from vestibule import errors, jitter
from vestibule.operator.result import Reconciled, RequeueAfter, Result, Terminal
from vestibule.operator.workqueue import CONFLICT_PAUSE, LONGEST_PAUSE, Queue

logger = logging.getLogger(__name__)
K = TypeVar("K")
RESYNC_SECONDS: Final = 300.0
"""Between two looks at a key at which nothing happens: what no watch tells is found by then."""
TIMEOUT_SECONDS: Final = 60.0


class ControllerMetrics(Protocol):
    """Who counts."""

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        """A look ended: done, again, stalled, failed, late or broken."""
        ...


class Controller(Generic[K]):
    """One queue and what is done with its keys."""

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[Result]],
        queue: Queue[K],
        numbers: ControllerMetrics,
        *,
        timeout: float = TIMEOUT_SECONDS,
        resync: float = RESYNC_SECONDS,
    ) -> None:
        self.name = name
        self.queue = queue
        self._reconcile = reconcile
        self._numbers = numbers
        self._timeout = timeout
        self._resync = resync

    async def run(self) -> NoReturn:
        """For ever; what runs is cancelled with this."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    key = await self.queue.get()
                    group.create_task(self._one(key), name=f"{self.name} {key}")
        finally:
            self.queue.close()
        raise AssertionError("unreachable")

    async def _one(self, key: K) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            outcome = await self._guarded(key)
        finally:
            self.queue.done(key)
        self._numbers.reconciled(self.name, outcome, loop.time() - began)

    async def _guarded(self, key: K) -> str:
        """How it ended, in a word."""
        about = {"controller": self.name, "key": str(key)}
        try:
            async with asyncio.timeout(self._timeout):
                result = await self._reconcile(key)
        except TimeoutError:
            logger.warning("reconcile cut", extra={**about, "seconds": self._timeout})
            self.queue.back_off(key)
            return "late"
        except errors.VestibuleError as error:
            pause = self.queue.back_off(key, _longest_pause(error))
            logger.warning("reconcile failed", extra={**about, "error": str(error), "again": round(pause, 1)})
            return "failed"
        except Exception:
            logger.exception("reconcile broken", extra=about)
            self.queue.back_off(key)
            return "broken"
        return self._settle(key, result)

    def _settle(self, key: K, result: Result) -> str:
        self.queue.forget(key)
        if isinstance(result, RequeueAfter):
            self.queue.add(key, min(max(result.after, 0.05), self._resync))
            return "again"
        if isinstance(result, Reconciled) and result.forget:
            self.queue.drop(key)
            return "done"
        self.queue.add(key, self._resync * jitter.between(0.8, 1.0))
        if isinstance(result, Terminal):
            about = {"controller": self.name, "key": str(key), "reason": result.reason}
            logger.warning("stalled", extra={**about, "error": result.message})
            return "stalled"
        return "done"


def _longest_pause(error: errors.VestibuleError) -> float:
    """An object of somebody else in our place is a conflict that lasts."""
    short = isinstance(error, errors.Conflict) and not isinstance(error, errors.ForeignObject)
    return CONFLICT_PAUSE if short else LONGEST_PAUSE
