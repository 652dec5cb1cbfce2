"""What a rule about ARO objects may find."""

from __future__ import annotations

from typing import Literal, NamedTuple

ErrorType = Literal["Required", "Invalid", "Forbidden", "Duplicate"]


class RuleError(NamedTuple):
    """A rule that is broken."""

    path: str
    """Empty: the object as a whole."""
    type: ErrorType
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.type}: {self.text}" if self.path else self.text


class RuleWarning(NamedTuple):
    """Something that is legal, and unwise."""

    text: str


Finding = RuleError | RuleWarning


class Findings(NamedTuple):
    """What a review comes to."""

    errors: tuple[RuleError, ...] = ()
    warnings: tuple[str, ...] = ()
