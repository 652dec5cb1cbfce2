"""Conditions in the status of objects: what holds, since when, and for which generation. Pure.

lastTransitionTime is preserved while the status stays the same, whatever the reason and the words. Types
that are not ours are left as they are.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

LONGEST_MESSAGE: Final = 2000
"""Characters; the API server takes 32768, people read fewer."""
SCHEMA: Final[dict[str, Any]] = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "message": {"type": "string", "maxLength": 32768},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "type": {"type": "string", "maxLength": 316},
        },
    },
}


class Condition(NamedTuple):
    """One statement."""

    type: str
    status: str
    """True, False or Unknown."""
    reason: str
    """One word in CamelCase, for machines."""
    message: str = ""

    def __str__(self) -> str:
        return f"{self.type}={self.status}/{self.reason}"


def yes(kind: str, reason: str, message: str = "") -> Condition:
    """It holds."""
    return Condition(kind, "True", reason, message)


def no(kind: str, reason: str, message: str = "") -> Condition:
    """It does not."""
    return Condition(kind, "False", reason, message)


def merged(
    existing: Sequence[dict[str, Any]] | None,
    desired: Iterable[Condition],
    *,
    now: datetime.datetime,
    generation: int,
    retired: Iterable[str] = (),
    ready: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """The conditions to write: those wanted in their places, those of others untouched, the retired types
    gone. Equal to the existing ones when nothing changed. ``ready`` are the types that ``Ready`` sums up."""
    before = {str(one.get("type")): one for one in existing or ()}
    after = {name: one for name, one in before.items() if name not in set(retired)}

    def put(condition: Condition) -> None:
        known = before.get(condition.type)
        since = moment(now)
        if known is not None and known.get("status") == condition.status:
            since = str(known.get("lastTransitionTime") or since)
        after[condition.type] = {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": _short(condition.message),
            "lastTransitionTime": since,
            "observedGeneration": generation,
        }

    for condition in desired:
        put(condition)
    if ready:
        put(_ready(after, ready))
    return list(after.values())


READY: Final = "Ready"
"""The condition that kubectl wait, Argo CD, Flux and kstatus read."""
_DEGRADED: Final = "Degraded"


def _ready(found: Mapping[str, dict[str, Any]], kinds: Sequence[str]) -> Condition:
    """True when every condition of these types is, and none says that the object is degraded; otherwise the
    words of the first that is in the way."""
    degraded = found.get(_DEGRADED)
    if degraded is not None and degraded.get("status") == "True":
        return no(READY, str(degraded.get("reason")), str(degraded.get("message")))
    for kind in kinds:
        one = found.get(kind)
        if one is None:
            return Condition(READY, "Unknown", "NotReported", f"{kind} is not reported yet")
        if one.get("status") != "True":
            return Condition(READY, str(one["status"]), str(one["reason"]), str(one.get("message") or ""))
    return yes(READY, "AsExpected")


def find(existing: Sequence[dict[str, Any]] | None, kind: str) -> dict[str, Any] | None:
    """The condition of a type."""
    return next((one for one in existing or () if one.get("type") == kind), None)


def changed(
    before: Sequence[dict[str, Any]] | None, after: Sequence[dict[str, Any]], *kinds: str
) -> list[dict[str, Any]]:
    """Of these types, the conditions whose status or reason is new: what to record as an Event."""
    found = []
    for one in after:
        known = find(before, str(one["type"]))
        same = known is not None and (known.get("status"), known.get("reason")) == (
            one["status"],
            one["reason"],
        )
        if one["type"] in kinds and not same:
            found.append(one)
    return found


def moment(now: datetime.datetime) -> str:
    """A time as the API server writes it."""
    return now.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def since(condition: dict[str, Any] | None, now: datetime.datetime) -> float:
    """Seconds since a condition is as it is; 0 when that is not known."""
    try:
        at = datetime.datetime.fromisoformat(str((condition or {})["lastTransitionTime"]))
    except (KeyError, ValueError):
        return 0.0
    if at.tzinfo is None:
        at = at.replace(tzinfo=datetime.UTC)
    return max(0.0, (now - at).total_seconds())


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 1]}…"
