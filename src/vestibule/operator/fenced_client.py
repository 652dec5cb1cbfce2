"""Kubernetes writes that fail once leadership is lost.

Leadership is checked before each call, and no call outlives it: by the time another process may lead, ours
has ended. Writes carry the version or the uid that was read, so that one that comes late all the same is
refused."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from typing import Protocol

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.kube import client
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import ApiResponse, Client


class Leadership(Protocol):
    """Whether we lead."""

    @property
    def leading(self) -> bool:
        """At this very moment."""
        ...

    def left(self) -> float:
        """Seconds in which nobody else can."""
        ...


class AlwaysLeader:
    """There is no other replica and no election."""

    leading = True

    def left(self) -> float:
        """For ever."""
        return math.inf


class LeadershipLost(errors.Unavailable):
    """We do not lead any more; nothing was written."""


class FencedClient:
    """Writes to one cluster."""

    def __init__(
        self, to: Client, leadership: Leadership, writes: Counter[tuple[str, str, str]] | None = None
    ) -> None:
        """``writes``: where others count theirs, too."""
        self._client = to
        self._leadership = leadership
        self.writes: Counter[tuple[str, str, str]] = Counter() if writes is None else writes
        """Calls by kind, method and result (``ok``, ``conflict``, ``failed``)."""

    async def send(self, call: ApiRequest, kind: Kind, what: str, *wanted: int) -> ApiResponse:
        """The answer, if its status is one that is wanted; 200 and 201 always are.

        Raises LeadershipLost, Conflict, Forbidden, NotFound, InvalidInput when the API server finds the
        object wrong, Unavailable.
        """
        if not self._leadership.leading:
            raise LeadershipLost(f"{what}: leadership was lost before it was written")
        result = "failed"
        try:
            async with asyncio.timeout(min(self._leadership.left(), 3600.0)):
                answer = await self._client.send(call)
            if answer.status == 409:
                result = "conflict"
            if answer.status in (200, 201, *wanted):
                result = "ok" if answer.status != 409 else result
                return answer
        except TimeoutError:
            raise LeadershipLost(f"{what}: leadership ended before there was an answer") from None
        finally:
            self.writes[kind.kind, call.method, result] += 1
        said = client.message(answer.body)
        if answer.status == 404:
            raise errors.NotFound(f"{what}: {said or 'not found'}")
        if answer.status in (400, 422):
            raise errors.InvalidInput(errors.InputProblem(what, "", said))
        client.raise_for(answer, what)
        return answer
