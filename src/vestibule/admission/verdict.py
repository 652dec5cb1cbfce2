"""What was decided about one pod, and everything a person may want to know about it.

Outcomes are values: ``skipped`` (nothing to do), ``patched``, ``refused``. The constructors keep the
combinations honest; an internal fault is an exception and never a verdict, so that the cluster's failure
policy decides about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from vestibule.admission.patch import NO_PATCH, Patch

Severity = Literal["info", "warn", "refuse"]
Outcome = Literal["skip", "inject", "deny"]

MAX_WARNINGS: Final = 3
"""The API server drops texts past 4 KiB in all."""
MAX_WARNING_LENGTH: Final = 200
"""The API server cuts at 256 characters; the margin leaves space for its own text."""


class Finding(NamedTuple):
    """One thing the user should know, with the fields apart so that machines can read them too."""

    severity: Severity
    text: str
    object: str = ""
    key: str = ""
    value: str = ""
    want: str = ""


class ResolvedValue(NamedTuple):
    """The value a key resolved to, where it came from, and what it shadowed."""

    key: str
    value: str
    level: str
    object: str
    shadowed: tuple[tuple[str, str], ...] = ()


class ValueOrigin(NamedTuple):
    """A resolved key before objects are named: level is an index into the levels, -1 for the settings."""

    key: str
    value: str
    level: int
    shadowed: tuple[tuple[int, str], ...] = ()


class MissingIdentity(NamedTuple):
    """A cloud that was asked for and cannot be served, with what to do about it."""

    provider: str
    keys: tuple[str, ...]
    advice: str


class Effect(NamedTuple):
    """An object to be applied before the answer is sent; never on a dry run."""

    object: Mapping[str, Any]
    field_manager: str
    force: bool


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The decision about one pod."""

    outcome: Outcome
    sent: Patch = NO_PATCH
    message: str = ""
    code: int = 0
    providers: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    origins: tuple[ValueOrigin, ...] = ()
    levels: Sequence[Any] = ()
    """The object of each level of precedence, strongest first."""
    missing: tuple[MissingIdentity, ...] = ()
    effects: tuple[Effect, ...] = ()
    reason: str = ""
    """Why nothing was done, in one word for metrics and the audit line."""
    besides: Callable[[], tuple[ResolvedValue, ...]] = tuple
    """What was resolved besides identities."""

    @property
    def patch(self) -> bytes:
        """The patch as JSON text; empty when there is none."""
        return self.sent.operations

    @property
    def allowed(self) -> bool:
        """Whether the pod may pass."""
        return self.outcome != "deny"

    @property
    def values(self) -> tuple[ResolvedValue, ...]:
        """Every key that was resolved, with the objects named; made on demand, since only people ask."""
        found = tuple(
            ResolvedValue(
                origin.key,
                origin.value,
                self.levels[origin.level].level if origin.level >= 0 else "default",
                str(self.levels[origin.level]) if origin.level >= 0 else "settings",
                tuple((str(self.levels[level]), value) for level, value in origin.shadowed),
            )
            for origin in self.origins
        )
        return (*found, *self.besides())


def skipped(reason: str, **details: Any) -> Verdict:
    """The pod passes as it is."""
    return Verdict("skip", reason=reason, **details)


def patched(patch: bytes, **details: Any) -> Verdict:
    """The pod passes with these additions."""
    return Verdict("inject", Patch(patch), **details)


def refused(message: str, *, code: int = 403, reason: str = "policy", **details: Any) -> Verdict:
    """The pod does not pass; the message is what its author reads."""
    return Verdict("deny", message=message, code=code, reason=reason, **details)


def warnings(verdict: Verdict) -> list[str]:
    """At most three short ASCII lines for the API answer; the last one counts what did not fit."""
    texts = [
        ascii_line(finding.text, MAX_WARNING_LENGTH)
        for finding in verdict.findings
        if finding.severity != "info"
    ]
    if len(texts) <= MAX_WARNINGS:
        return texts
    rest = len(texts) - (MAX_WARNINGS - 1)
    return [*texts[: MAX_WARNINGS - 1], f"vestibule: and {rest} more; 'vestibule explain' lists them all"]


def ascii_line(text: str, limit: int) -> str:
    """One line of printable ASCII: the API server drops a warning that holds anything else."""
    line = "".join(c if " " <= c <= "~" else "?" for c in text)
    return line if len(line) <= limit else line[: limit - 3] + "..."
