"""The result of a decision about a sandbox: what a pod gets, warnings, or why it is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vestibule.injection.sandbox.origins import ResolvedKey

Json = Mapping[str, Any]


class SandboxNote(NamedTuple):
    """One thing to say; ``code`` is for machines."""

    code: str
    text: str


class SandboxResult(NamedTuple):
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
    notes: tuple[SandboxNote, ...] = ()
    refusal: SandboxNote | None = None
    origins: Callable[[], tuple[ResolvedKey, ...]] = tuple
    """Where its values come from; on demand, since only people ask."""


class SandboxRefused(Exception):
    """The pod does not pass, and why; ends the decision."""

    def __init__(self, code: str, text: str) -> None:
        self.note = SandboxNote(code, text)
        super().__init__(text)
