"""Outages of the webhook, as recorded in the status of an installation. Pure.

The last few are recorded, so that a pod that was created meanwhile can be distinguished from one whose
annotations came later.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

MOST: Final = 10
"""Maximum number of recorded outages."""
_BEFORE: Final = datetime.timedelta(seconds=60)
"""Seconds until an outage is detected."""
_AFTER: Final = datetime.timedelta(seconds=5)
SCHEMA: Final[dict[str, Any]] = {
    "type": "array",
    "description": "The last times when the webhook was seen not to answer, and to answer again.",
    "maxItems": MOST,
    "items": {
        "type": "object",
        "required": ["since"],
        "properties": {
            "since": {"type": "string", "format": "date-time"},
            "until": {"type": "string", "format": "date-time"},
        },
    },
}


class Outage(NamedTuple):
    """One time."""

    since: datetime.datetime
    until: datetime.datetime | None = None
    """None: it is away still."""

    def covers(self, moment: datetime.datetime) -> bool:
        """Whether something that happened then may have been missed."""
        return self.since - _BEFORE <= moment and (self.until is None or moment <= self.until + _AFTER)

    def __str__(self) -> str:
        since = f"{self.since:%Y-%m-%d %H:%M:%S}"
        return f"from {since} to {self.until:%Y-%m-%d %H:%M:%S}" if self.until else f"since {since}"


def noted(
    listed: Sequence[Mapping[str, str]] | None, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> list[dict[str, str]]:
    """The list to record, from the previous and the current ``Available`` condition."""
    outages = [dict(one) for one in listed or ()]
    away = bool(outages) and "until" not in outages[-1]
    moment = str(after.get("lastTransitionTime", ""))
    if (before or {}).get("status") == "True" and after.get("status") == "False" and not away:
        outages.append({"since": moment})
    elif after.get("status") == "True" and away:
        outages[-1]["until"] = moment
    return outages[-MOST:]


def parse(listed: Sequence[Mapping[str, str]] | None) -> tuple[Outage, ...]:
    """The recorded outages; unreadable entries are skipped."""
    found = []
    for one in listed or ():
        try:
            until = datetime.datetime.fromisoformat(one["until"]) if one.get("until") else None
            found.append(Outage(datetime.datetime.fromisoformat(one["since"]), until))
        except (KeyError, TypeError, ValueError):
            continue
    return tuple(found)
