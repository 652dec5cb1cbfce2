"""Whether somebody asked everybody to keep their hands off a control plane, and for how long."""

from __future__ import annotations

import datetime
import re
from typing import Any, Final, NamedTuple

from vestibule.compat import goflags

_RFC3339: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})", re.ASCII)
CLUSTER_API: Final = "cluster.x-k8s.io/paused"
"""Annotation of Cluster API; its value does not matter."""


class PauseState(NamedTuple):
    """Paused or not; and after how many seconds to look again, 0 for whenever something changes."""

    paused: bool
    seconds: float = 0.0


RUNNING: Final = PauseState(False)


def until(value: str | None, now: datetime.datetime) -> PauseState:
    """``spec.pausedUntil``: a boolean or a time; anything else counts as not paused."""
    if not value:
        return RUNNING
    if goflags.boolean(value):
        return PauseState(True)
    end = _time(value)
    return RUNNING if end is None or end <= now else PauseState(True, (end - now).total_seconds())


def cluster_api(*things: dict[str, Any] | None) -> PauseState:
    """``spec.paused`` of a Cluster, or the annotation on anything that belongs to it."""
    for thing in things:
        if thing is None:
            continue
        spec, meta = thing.get("spec") or {}, thing.get("metadata") or {}
        if spec.get("paused") is True or CLUSTER_API in (meta.get("annotations") or {}):
            return PauseState(True)
    return RUNNING


def _time(value: str) -> datetime.datetime | None:
    """A time as RFC 3339 writes it; None when it is none. Python reads six digits of a second."""
    if _RFC3339.fullmatch(value) is None:
        return None
    short = re.sub(r"(\.\d{6})\d+", r"\1", value)
    try:
        return datetime.datetime.fromisoformat(short.replace("Z", "+00:00"))
    except ValueError:
        return None
