"""Which published keys are the cluster's, which have left it, and when those may go. Pure.

A key is recorded from the moment the cluster lists it. When the cluster stops to show it, tokens that it
signed live on: it stays published for as long as the retention says, and is retired then. Keys that the
cluster never showed, such as the next one of a rotation, have another owner and stay.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from vestibule.api import conditions


class RetentionResult(NamedTuple):
    """What follows from one look."""

    keys: list[dict[str, str]]
    """What to remember, as a status holds it; those that retire are gone from it."""
    retire: tuple[str, ...]
    due: float | None
    """Seconds until the next key retires; None: none waits."""


def retain(
    known: Sequence[Mapping[str, str]] | None,
    cluster: Collection[str],
    retention: float,
    now: datetime.datetime,
) -> RetentionResult:
    """The next state, from the recorded keys and the ids that the cluster lists now."""
    moment = conditions.moment(now)
    before = {str(one.get("kid")): one for one in known or () if one.get("kid")}
    keys = [{"kid": kid, "since": str(before.get(kid, {}).get("since") or moment)} for kid in cluster]
    retire: list[str] = []
    due: list[float] = []
    for kid, one in before.items():
        if kid in cluster:
            continue
        left = _moment(one.get("left")) or now
        rest = retention - (now - left).total_seconds()
        if rest <= 0:
            retire.append(kid)
            continue
        due.append(rest)
        keys.append({"kid": kid, "since": str(one.get("since") or moment), "left": conditions.moment(left)})
    return RetentionResult(keys, tuple(retire), min(due, default=None))


def _moment(text: str | None) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
