"""Flavours whose control plane has no place for a container of ours, and no other object that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vestibule.operator.controllers.hosted.control_plane import ForeignEdit

Object = dict[str, Any]


def holder(thing: Object) -> tuple[str, str] | None:
    """Nobody."""
    del thing
    return None


def attached(owner: Object, container: Object, volumes: Sequence[Object]) -> ForeignEdit | None:
    """There is no place."""
    del owner, container, volumes
    return None


def detached(owner: Object, name: str) -> ForeignEdit | None:
    """Nothing of ours is there."""
    del owner, name
    return None
