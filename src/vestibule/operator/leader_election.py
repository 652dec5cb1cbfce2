"""One process works, the others wait: what is given is run while we lead, and ended when we do not."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

logger = logging.getLogger(__name__)
_LOOK_SECONDS: Final = 0.1


class Election(Protocol):
    """Who decides who leads."""

    @property
    def leading(self) -> bool:
        """At this very moment."""
        ...

    async def run(self) -> None:
        """Stand, for ever; on the way out others are let in at once."""
        ...


async def lead(election: Election, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Stand for election for ever, and work while we lead. When this is cancelled the work has ended before
    the lease is let go. What the work raises is raised here."""
    standing = asyncio.create_task(election.run(), name="election")
    try:
        while True:
            await _until(lambda: election.leading, standing)
            logger.info("leading")
            await _while_leading(election, standing, work)
            logger.info("no longer leading")
    finally:
        standing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await standing


async def _while_leading(
    election: Election, standing: asyncio.Task[None], work: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    working = asyncio.create_task(work(), name="work")
    try:
        await _until(lambda: not election.leading or working.done(), standing)
        if working.done():
            working.result()
            raise RuntimeError("the work has ended")
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def _until(condition: Callable[[], bool], standing: asyncio.Task[None]) -> None:
    """Leadership is a matter of time, not of events: it is looked at."""
    while not condition():
        if standing.done():
            standing.result()
            raise RuntimeError("the election has ended")
        await asyncio.sleep(_LOOK_SECONDS)
