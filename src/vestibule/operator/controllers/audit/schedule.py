"""When the next audit of an installation is due. Kept in memory: after a restart one comes soon anyway."""

from __future__ import annotations

from typing import Any, Final

from vestibule import jitter
from vestibule.api import conditions

Object = dict[str, Any]
_FIRST: Final = 120.0
"""Seconds within which the first audit comes, so that a restart is not a wave of reads."""
_BACK: Final = 5.0
"""The same when the webhook is back."""


def _jittered(seconds: float) -> float:
    return seconds * jitter.between(0.5, 1.0)


class AuditSchedule:
    """The appointments of one installation, in seconds of the loop's clock."""

    def __init__(self) -> None:
        self.at: float | None = None
        self._available = ""
        """Since when the webhook is there, or was when it was last seen to be; empty: nobody knows."""

    def noted(self, obj: Object, interval: float, now: float) -> bool:
        """Take in the status of an installation; whether an audit is due."""
        found = conditions.find((obj.get("status") or {}).get("conditions"), "Available") or {}
        since = str(found.get("lastTransitionTime")) if found.get("status") == "True" else ""
        if self.at is None:
            self.at = now + _jittered(min(_FIRST, interval))
        elif since and self._available and since != self._available:
            # it is back: what was created meanwhile is found soon
            self.at = min(self.at, now + _jittered(min(_BACK, interval)))
        self._available = since or self._available
        # an interval that was made shorter counts at once
        self.at = min(self.at, now + interval)
        return now >= self.at

    def ended(self, interval: float, now: float) -> None:
        """An audit has ended."""
        self.at = now + interval * jitter.between(0.8, 1.0)

    def left(self, now: float) -> float:
        """Seconds until the next one."""
        return max(0.0, (self.at or now) - now)
