"""What a rule about ARO objects may find."""

from __future__ import annotations

from typing import Literal, NamedTuple

ErrorType = Literal["Required", "Invalid", "Forbidden", "Duplicate"]


class Error(NamedTuple):
    """A rule that is broken."""

    path: str
    """Empty: the object as a whole."""
    type: ErrorType
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.type}: {self.text}" if self.path else self.text


class Warned(NamedTuple):
    """Something that is legal, and unwise."""

    text: str


Finding = Error | Warned


class Findings(NamedTuple):
    """What a review comes to."""

    errors: tuple[Error, ...] = ()
    warnings: tuple[str, ...] = ()
