"""Whether an object of Azure Service Operator is ready, and what it says when it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from vestibule.api import conditions

_PREFIXES = {"Error": "[Error] ", "Warning": "[Warning] "}


class ReadyState(NamedTuple):
    """What an object's Ready condition comes to."""

    ready: bool
    reason: str = ""
    """Empty when it says nothing about the present generation."""
    message: str = ""
    """With the severity in front."""
    severity: str = ""
    observed: int | None = None


def of(obj: Mapping[str, Any] | None) -> ReadyState:
    """Ready is what says so about its present generation; what it says about an older one is stale."""
    if obj is None:
        return ReadyState(ready=False)
    condition = conditions.find((obj.get("status") or {}).get("conditions"), "Ready")
    if condition is None:
        return ReadyState(ready=False)
    observed = condition.get("observedGeneration")
    observed = observed if isinstance(observed, int) else None
    stale = (observed or 0) < int((obj.get("metadata") or {}).get("generation") or 0)
    if stale:
        return ReadyState(ready=False, observed=observed)
    if condition.get("status") == "True":
        return ReadyState(ready=True, reason="Succeeded", observed=observed)
    severity = str(condition.get("severity") or "")
    said = str(condition.get("message") or "")
    return ReadyState(
        ready=False,
        reason=str(condition.get("reason") or ""),
        message=f"{_PREFIXES.get(severity, '')}{said}" if said else "",
        severity=severity,
        observed=observed,
    )


def mirrored(kind: str, state: ReadyState, otherwise: str) -> conditions.Condition:
    """The state as a condition of ours; ``otherwise`` is said when the object says nothing."""
    if state.ready:
        return conditions.yes(kind, "Succeeded")
    prefix = _PREFIXES.get(state.severity, "")
    return conditions.no(kind, state.reason or "Provisioning", state.message or f"{prefix}{otherwise}")
