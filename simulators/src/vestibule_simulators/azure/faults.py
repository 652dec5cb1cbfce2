"""Faults on demand: which calls, how often, and what goes wrong.

::

    on          "PUT */roleAssignments/*"    method and path, * for anything; letter case does not count
    times       1                            how often; 0: always
    skip        0                            calls that pass before
    when        {"properties.kind": "x"}     only for bodies that say so
    status      429, 503, 403 …              0 with "cut": no answer at all
    code        "TooManyRequests"            ARM's word
    retryAfter  2                            seconds, as a header
    mode        before | after | partial     before it is done; after; or done by half
    cut         true                         the line goes dead instead of an answer
    delay       1.5                          seconds until the answer
"""

from __future__ import annotations

import fnmatch
from typing import Any, Literal

import msgspec

from vestibule_simulators.azure import responses
from vestibule_simulators.azure.operations import wait
from vestibule_simulators.azure.responses import ArmError
from vestibule_simulators.https_server import SiteRequest, SiteResponse

_TEXTS = {
    "TooManyRequests": "The request is being throttled.",
    "RequestDisallowedByPolicy": "Resource was disallowed by policy.",
    "PrincipalNotFound": "Principal does not exist in the directory.",
}
_CODES = {429: "TooManyRequests", 503: "ServiceUnavailable", 500: "InternalServerError", 409: "Conflict"}


class FaultRule(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """One rule."""

    on: str
    times: int = 1
    skip: int = 0
    when: dict[str, Any] = {}
    status: int = 0
    code: str = ""
    message: str = ""
    retry_after: float | None = None
    mode: Literal["before", "after", "partial"] = "before"
    cut: bool = False
    delay: float = 0.0
    hits: int = 0
    """How often it has struck."""

    def fits(self, call: SiteRequest) -> bool:
        """Whether this rule is about the call; ``times`` and ``skip`` apart."""
        method, _, path = self.on.partition(" ")
        if not path:
            method, path = "*", method
        if not fnmatch.fnmatchcase(call.method, method.upper()):
            return False
        if not fnmatch.fnmatchcase(call.path.lower(), path.lower()):
            return False
        return all(_at(call.body, name) == value for name, value in self.when.items())

    def reply(self) -> SiteResponse:
        """What the caller gets."""
        if self.cut:
            return SiteResponse(0, cut=True)
        code = self.code or _CODES.get(self.status, "SimulatedFault")
        text = self.message or _TEXTS.get(code, f"A fault on demand: {code}.")
        headers = wait(self.retry_after) if self.retry_after else {}
        return responses.refused(ArmError(self.status, code, text, headers))

    @property
    def answers(self) -> bool:
        """Whether the caller gets something else than the true answer; else it is only late."""
        return self.cut or self.status > 0


class FaultRules:
    """All rules, in order; the first that fits strikes."""

    def __init__(self) -> None:
        self.rules: list[FaultRule] = []

    def add(self, data: bytes) -> None:
        """Rules as JSON: one, or a list. Raises ValueError."""
        try:
            given = msgspec.json.decode(data, type=FaultRule | list[FaultRule])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ValueError(f"is no list of faults: {error}") from None
        self.rules += given if isinstance(given, list) else [given]

    def take(self, call: SiteRequest) -> FaultRule | None:
        """The fault of this call, counted."""
        for rule in self.rules:
            if not rule.fits(call) or (rule.times and rule.hits >= rule.times):
                continue
            if rule.skip:
                rule.skip -= 1
                continue
            rule.hits += 1
            return rule
        return None


def _at(body: bytes, path: str) -> Any:
    try:
        found: Any = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found
