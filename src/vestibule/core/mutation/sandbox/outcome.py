"""What comes out of a decision about a sandbox: what a pod gets, what is said, or why it does not pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vestibule.core.mutation.sandbox.origins import Said

Json = Mapping[str, Any]


class Told(NamedTuple):
    """One thing to say; ``code`` is for machines."""

    code: str
    text: str


class Sandbox(NamedTuple):
    """What a pod gets."""

    runtime_class: str = ""
    """The class to set; empty: the pod keeps what it has."""
    annotations: Mapping[str, str] = {}
    """To set; some may replace what is there."""
    labels: Mapping[str, str] = {}
    resources: Mapping[str, tuple[Json, ...]] = {}
    """``containers`` and ``initContainers`` to the resources each is left with, by position; only where
    something changes."""
    drops_pod_resources: bool = False
    told: tuple[Told, ...] = ()
    refusal: Told | None = None
    origins: Callable[[], tuple[Said, ...]] = tuple
    """Where its values come from; on demand, since only people ask."""


class Refused(Exception):
    """The pod does not pass, and why; ends the decision."""

    def __init__(self, code: str, text: str) -> None:
        self.told = Told(code, text)
        super().__init__(text)
