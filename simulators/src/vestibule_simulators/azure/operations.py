"""Work that goes on after the answer: an account that is being made, a group that is being removed."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import NamedTuple

from vestibule_simulators.azure import responses
from vestibule_simulators.azure.responses import ArmError, Json
from vestibule_simulators.azure.state import SubscriptionState
from vestibule_simulators.https_server import SiteResponse


class _Operation(NamedTuple):
    due: float
    finish: Callable[[], Json | None]
    """Does what is left; the resource to show, or None when nothing is."""


class Operations:
    """All that is under way."""

    def __init__(self, state: SubscriptionState) -> None:
        self._world = state
        self._running: dict[str, _Operation] = {}

    def begin(self, address: str, finish: Callable[[], Json | None]) -> SiteResponse | None:
        """202 with the place to look at; None when everything is done at once (``finish`` was called)."""
        seconds = self._world.settings.operation_seconds
        if seconds <= 0:
            finish()
            return None
        name = uuid.uuid4().hex
        self._running[name] = _Operation(self._world.clock() + seconds, finish)
        return responses.nothing(202, {"Location": f"{address}/{name}", **wait(seconds)})

    def look(self, name: str, here: str) -> SiteResponse:
        """202 while it goes on; then the resource, or nothing. Raises Refusal."""
        found = self._running.get(name)
        if found is None:
            raise ArmError(404, "OperationNotFound", f"The operation '{name}' is not known.")
        left = found.due - self._world.clock()
        if left > 0:
            return responses.nothing(202, {"Location": here, **wait(left)})
        created = found.finish()
        self._running[name] = found._replace(finish=lambda: created)
        return responses.document(200, created) if created is not None else responses.nothing(200)

    def settle(self) -> None:
        """Do all that is due, also where nobody looks."""
        for name, one in list(self._running.items()):
            if one.due <= self._world.clock():
                made = one.finish()
                self._running[name] = one._replace(finish=lambda made=made: made)  # type: ignore[misc]


def wait(seconds: float) -> dict[str, str]:
    """How long to stay away, in the header that can say it."""
    if seconds >= 1:
        return {"Retry-After": str(round(seconds))}
    return {"x-ms-retry-after-ms": str(max(1, round(seconds * 1000)))}
