"""What is refused at the door, and what is legal but unwise: all of it at once, each with its place."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from vestibule.core.aro import embedded
from vestibule.core.aro.embedded import Object
from vestibule.core.aro.world import World

ErrorType = Literal["Required", "Invalid", "Forbidden", "Duplicate"]


class Error(NamedTuple):
    """One rule that is broken."""

    path: str
    type: ErrorType
    text: str


class Findings(NamedTuple):
    """What a review comes to."""

    errors: tuple[Error, ...] = ()
    warnings: tuple[str, ...] = ()


def review(operation: str, obj: Object, old: Object | None, world: World) -> Findings:
    """The rules for one of the three kinds."""
    del operation, old, world
    found: list[Any] = [Error(one.path, one.kind, one.text) for one in embedded.malformed(obj)]  # type: ignore[arg-type]
    return Findings(tuple(found))
