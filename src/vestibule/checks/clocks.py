"""Clock skew: a token is valid for a period, so the clocks of signer and verifier must agree."""

from __future__ import annotations

from typing import Final

from vestibule.checks.check import Check, fail, ok, skipped, warn
from vestibule.checks.http_document import HttpDocument

WARN: Final = 30.0
"""Seconds; clouds tolerate some skew, and a token is used within seconds after it is issued."""
FAIL: Final = 300.0
"""Seconds; no cloud tolerates more."""


def skew(id_: str, read: HttpDocument) -> Check:
    """The server's clock against the local one; the Date header has a resolution of one second."""
    if read.date is None:
        return skipped(id_, read.url, "the response has no Date header")
    ahead = read.date + 0.5 - read.at
    apart = max(0.0, abs(ahead) - 1.0)
    if apart <= WARN:
        return ok(
            id_,
            read.url,
            "within a second of the local clock" if apart < 1 else f"{apart:.0f} s from the local clock",
        )
    which = "ahead of" if ahead > 0 else "behind"
    found = f"{_span(apart)} {which} the clock of this machine"
    want = f"at most {WARN:.0f} s"
    advice = "synchronize both with NTP or chrony; tokens that are expired or not yet valid are refused"
    return (fail if apart > FAIL else warn)(id_, read.url, found, want, advice)


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"
