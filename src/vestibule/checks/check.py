"""One conclusion: what was looked at, what was found, what is wanted and what to do.

Ids are API: people filter by them and documentation lists them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

Status = Literal["ok", "warn", "fail", "skipped"]
ORDER: Final[tuple[Status, ...]] = ("fail", "warn", "skipped", "ok")
"""The worst first."""


class Check(NamedTuple):
    """One conclusion."""

    id: str
    status: Status
    about: str
    """The object, address or file that was looked at."""
    found: str
    want: str = ""
    advice: str = ""
    items: tuple[Mapping[str, Any], ...] = ()
    """What was found one by one, where there are several: pods, keys."""


def ok(id_: str, about: str, found: str, **more: Any) -> Check:
    """All is well."""
    return Check(id_, "ok", about, found, **more)


def warn(id_: str, about: str, found: str, want: str = "", advice: str = "", **more: Any) -> Check:
    """It works, and somebody should know."""
    return Check(id_, "warn", about, found, want, advice, **more)


def fail(id_: str, about: str, found: str, want: str = "", advice: str = "", **more: Any) -> Check:
    """It does not work."""
    return Check(id_, "fail", about, found, want, advice, **more)


def skipped(id_: str, about: str, found: str, advice: str = "") -> Check:
    """Not looked at, and why."""
    return Check(id_, "skipped", about, found, "", advice)


def worst(checks: Iterable[Check]) -> Status:
    """The worst status of all; what was skipped is no worse than what is well."""
    found = {check.status for check in checks}
    return next((status for status in ("fail", "warn") if status in found), "ok")


def counts(checks: Iterable[Check]) -> dict[str, int]:
    """How many of each status."""
    found = Counter(check.status for check in checks)
    return {status: found[status] for status in ORDER}
