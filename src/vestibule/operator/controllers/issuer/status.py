"""What the status of a PublishedIssuer says. Pure.

``Published``: both documents stand where they should, with every key of the cluster, and the public sees them
where that is looked at. ``Degraded``: a human must act, or it has failed for five minutes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from vestibule import errors
from vestibule.api.conditions import Condition, no, yes

PUBLISHED: Final = "Published"
DEGRADED: Final = "Degraded"
PATIENCE: Final = 300.0
"""Seconds that faults may last before the object is called degraded."""


class IssuerProblem(NamedTuple):
    """What keeps the issuer from being published as it should be."""

    reason: str
    message: str
    stalled: bool = False
    """Whether a human must act."""


def problem(error: errors.VestibuleError) -> IssuerProblem:
    """How an error is told, in one place."""
    if isinstance(error, errors.InvalidInput):
        return IssuerProblem("Refused", "; ".join(map(str, error.problems)), stalled=True)
    if isinstance(error, errors.Forbidden):
        return IssuerProblem("Forbidden", str(error), stalled=True)
    if isinstance(error, errors.NotFound):
        return IssuerProblem("PlaceNotFound", str(error), stalled=True)
    if isinstance(error, errors.MissingExtra):
        return IssuerProblem("MissingExtra", str(error), stalled=True)
    if isinstance(error, errors.Conflict):
        return IssuerProblem("Conflict", str(error))
    return IssuerProblem("Unavailable", str(error))


def conditions(wrong: IssuerProblem | None, failing_for: float, *, paused: bool = False) -> list[Condition]:
    """All of them; ``failing_for`` is how long it has not been published, in seconds."""
    if paused:
        return [Condition(PUBLISHED, "Unknown", "Paused", "spec.paused: what is published is left as it is")]
    if wrong is None:
        return [yes(PUBLISHED, "AsExpected"), no(DEGRADED, "AsExpected")]
    bad = wrong.stalled or failing_for > PATIENCE
    degraded = yes(DEGRADED, wrong.reason, wrong.message) if bad else no(DEGRADED, "AsExpected")
    return [no(PUBLISHED, wrong.reason, wrong.message), degraded]
