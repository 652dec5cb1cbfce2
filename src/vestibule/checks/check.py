"""One check result: the object, what was found, what is expected and what to do.

Check ids are API: users filter by them and the documentation lists them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

Status = Literal["ok", "warn", "fail", "skipped"]
ORDER: Final[tuple[Status, ...]] = ("fail", "warn", "skipped", "ok")
"""The worst first."""


class Check(NamedTuple):
    """The result of one check."""

    id: str
    status: Status
    about: str
    """The object, address or file that was checked."""
    found: str
    want: str = ""
    advice: str = ""
    items: tuple[Mapping[str, Any], ...] = ()
    """Details where there are several: pods, keys."""


def ok(id_: str, about: str, found: str, **more: Any) -> Check:
    return Check(id_, "ok", about, found, **more)


def warn(id_: str, about: str, found: str, want: str = "", advice: str = "", **more: Any) -> Check:
    """It works, but the user should know about it."""
    return Check(id_, "warn", about, found, want, advice, **more)


def fail(id_: str, about: str, found: str, want: str = "", advice: str = "", **more: Any) -> Check:
    """It does not work."""
    return Check(id_, "fail", about, found, want, advice, **more)


def skipped(id_: str, about: str, found: str, advice: str = "") -> Check:
    """Not checked; ``found`` has the reason."""
    return Check(id_, "skipped", about, found, "", advice)


def worst(checks: Iterable[Check]) -> Status:
    """The worst status of all; ``skipped`` counts as ``ok``."""
    found = {check.status for check in checks}
    return next((status for status in ("fail", "warn") if status in found), "ok")


def counts(checks: Iterable[Check]) -> dict[str, int]:
    """How many of each status."""
    found = Counter(check.status for check in checks)
    return {status: found[status] for status in ORDER}
