"""Every exception of ours, classed by what the caller should do.

::

    VestibuleError
    ├── InvalidInput            report to the user: the input is wrong, all problems at once
    │   ├── MalformedReview     the bytes are no AdmissionReview (carries the HTTP status)
    │   └── InvalidSettings     the settings file, a flag or a variable
    ├── Unavailable             try again soon: a passing fault
    │   ├── LookupFailed        an object could not be read; never the same as "it has no annotations"
    │   ├── Overloaded          more work than we take
    │   └── Gone                a watch cannot go on from there: list again
    ├── Forbidden               the cluster or the cloud does not let us; a human must act
    ├── NotFound                what should be there is not: a bucket, a container, a group
    ├── Conflict                another manager owns that field, or wrote in between
    │   └── ForeignObject       an object with a name that we need is not ours; a human must act
    └── MissingExtra            an optional dependency is not installed

Messages start lower case and end without a period; values are fields.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "Conflict",
    "Forbidden",
    "ForeignObject",
    "Gone",
    "InputProblem",
    "InvalidInput",
    "InvalidSettings",
    "LookupFailed",
    "MalformedReview",
    "MissingExtra",
    "NotFound",
    "Overloaded",
    "Unavailable",
    "VestibuleError",
]


class InputProblem(NamedTuple):
    """One problem: where, the value, the expected value."""

    place: str
    """File and line, object, or flag."""
    field: str
    """Path inside the place; empty when the place says it all."""
    text: str
    """The value and the expected value."""

    def __str__(self) -> str:
        return ": ".join(part for part in self if part)


class VestibuleError(Exception):
    """Root of the tree; never raised itself."""


class InvalidInput(VestibuleError):
    """The user's input is wrong. ``problems`` holds all of them, not the first."""

    def __init__(self, *problems: InputProblem) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class MalformedReview(InvalidInput):
    """The body is no AdmissionReview we can answer; ``status`` is the HTTP status to send."""

    def __init__(self, status: int, text: str, field: str = "") -> None:
        self.status = status
        super().__init__(InputProblem("AdmissionReview", field, text))


class InvalidSettings(InvalidInput):
    """A settings file, flag or environment variable that cannot be used."""


class Unavailable(VestibuleError):
    """A passing fault; the same request may succeed in a second."""


class LookupFailed(Unavailable):
    """An object could not be read."""

    def __init__(self, what: str, cause: str) -> None:
        self.what = what
        self.cause = cause
        super().__init__(f"reading {what} failed: {cause}")


class Overloaded(Unavailable):
    """More work is waiting than we take."""


class Gone(Unavailable):
    """The resource version of a watch has expired; list again."""


class Forbidden(VestibuleError):
    """The cluster or the cloud denies permission to do this."""


class NotFound(VestibuleError):
    """A configured resource does not exist: a bucket, a container, a resource group."""


class Conflict(VestibuleError):
    """Another field manager owns the field, or another writer changed the object since it was read."""


class ForeignObject(Conflict):
    """An object with the name of ours exists and has another owner; it is never overwritten."""


class MissingExtra(VestibuleError):
    """An optional dependency is missing; the message holds the command that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the '{extra}' extra: pip install 'vestibule[{extra}]'")
