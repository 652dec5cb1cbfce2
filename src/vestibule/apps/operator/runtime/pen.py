"""Every write goes through the pen, and the pen writes only while we lead.

The fence is asked before each call, and no call outlives it: by the time another process may lead, ours has
ended. Writes carry the version or the uid that was read, so that one that comes late all the same is refused.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from typing import Protocol

from vestibule import errors
from vestibule.adapters.cluster import client
from vestibule.adapters.cluster.calls import Call
from vestibule.adapters.cluster.client import Answer, Client
from vestibule.core.kinds.gvk import Kind


class Fence(Protocol):
    """Whether we lead."""

    @property
    def leading(self) -> bool:
        """At this very moment."""
        ...

    def left(self) -> float:
        """Seconds in which nobody else can."""
        ...


class Alone:
    """There is no other process: no election, no fence."""

    leading = True

    def left(self) -> float:
        """For ever."""
        return math.inf


class Deposed(errors.Unavailable):
    """We do not lead any more; nothing was written."""


class Pen:
    """Writes to one cluster."""

    def __init__(self, to: Client, fence: Fence, writes: Counter[tuple[str, str, str]] | None = None) -> None:
        """``writes``: where others count theirs, too."""
        self._client = to
        self._fence = fence
        self.writes: Counter[tuple[str, str, str]] = Counter() if writes is None else writes
        """Calls by kind, method and result (``ok``, ``conflict``, ``failed``)."""

    async def send(self, call: Call, kind: Kind, what: str, *wanted: int) -> Answer:
        """The answer, if its status is one that is wanted; 200 and 201 always are.

        Raises Deposed, Conflict, Forbidden, NotFound, InvalidInput when the API server finds the object
        wrong, Unavailable.
        """
        if not self._fence.leading:
            raise Deposed(f"{what}: leadership was lost before it was written")
        result = "failed"
        try:
            async with asyncio.timeout(min(self._fence.left(), 3600.0)):
                answer = await self._client.send(call)
            if answer.status == 409:
                result = "conflict"
            if answer.status in (200, 201, *wanted):
                result = "ok" if answer.status != 409 else result
                return answer
        except TimeoutError:
            raise Deposed(f"{what}: leadership ended before there was an answer") from None
        finally:
            self.writes[kind.kind, call.method, result] += 1
        said = client.message(answer.body)
        if answer.status == 404:
            raise errors.NotFound(f"{what}: {said or 'not found'}")
        if answer.status in (400, 422):
            raise errors.InvalidInput(errors.Problem(what, "", said))
        client.raise_for(answer, what)
        return answer
