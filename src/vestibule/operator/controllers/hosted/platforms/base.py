"""What every flavour of control plane can tell."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, Protocol

from vestibule.operator.controllers.hosted.control_plane import ControlPlane, ForeignEdit


class Platform(Protocol):
    """A flavour; its modules are instances. Nothing here raises but for objects without a name."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of a module
        """As people write it."""
        ...

    @property
    def KINDS(self) -> tuple[tuple[str, str], ...]:  # noqa: N802 - a constant of a module
        """API group and kind of the objects that it knows."""
        ...

    def target(
        self, thing: dict[str, Any], beside: Sequence[dict[str, Any]], now: datetime.datetime
    ) -> ControlPlane:
        """What can be said about a control plane, given objects that belong to it."""
        ...

    def holder(self, thing: dict[str, Any]) -> tuple[str, str] | None:
        """Kind and name of another object that takes our entries; None: the control plane's own does."""
        ...

    def attached(
        self, owner: dict[str, Any], container: dict[str, Any], volumes: Sequence[dict[str, Any]]
    ) -> ForeignEdit | None:
        """Our container beside the API server, through the owner's own fields; None: it has no such."""
        ...

    def detached(self, owner: dict[str, Any], name: str) -> ForeignEdit | None:
        """The owner without our container of this name and what came with it; None: there is no place."""
        ...
