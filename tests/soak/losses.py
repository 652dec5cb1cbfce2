"""What an admission was lost to, by the words of its error.

Time is only the second condition: one kind of loss is expected at one kind of fault, while that fault is
under way. Every other loss is unexplained.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterable
from typing import Final

KILL: Final = "kill -9 of a replica"
RESTART: Final = "restart of the API server"
UNEXPLAINED: Final = "unexplained"

AWAY: Final = "API server away"
CALL: Final = "webhook call failed"
BROKEN: Final = f"{CALL} (EOF or reset)"
UNREACHED: Final = f"{CALL} (connection refused)"
LATE: Final = f"{CALL} (deadline)"
UNTRUSTED: Final = f"{CALL} (x509 or TLS)"
FAILED: Final = f"{CALL} (other)"
REFUSED: Final = "refused by the webhook"
OTHER: Final = "other"

EXPECTED: Final = {AWAY: RESTART, BROKEN: KILL}
"""The fault that may cost an admission, by kind of loss. A dead process's connections are closed by its
kernel, so its callers see an end or a reset; they wait for no deadline, and new connections go elsewhere."""
GRACE: Final = 1.0
"""Seconds from the end of such a fault until its last error has reached the loader. Both are errors that come
at once, so neither the ten seconds of a webhook call nor the loader's own patience is waited for."""

_ENDED: Final = re.compile(
    r"ConnectionRefusedError\b|ConnectionResetError\b|BrokenPipeError\b|SSLEOFError\b|SSLZeroReturnError\b"
    r"|Closed: closed by the server"
)
_REFUSAL: Final = re.compile(r'admission webhook "[^"]*" denied the request')
_CALLING: Final = re.compile(r'(Internal error occurred: )?failed calling webhook "[^"]*"')
_URL: Final = re.compile(r'"https?://[^"]*"')
"""A call's address names its timeout, so it is left out before the words are looked at."""
_REASONS: Final = (
    (LATE, re.compile(r"deadline exceeded|timeout", re.IGNORECASE)),
    (UNTRUSTED, re.compile(r"x509|tls", re.IGNORECASE)),
    (UNREACHED, re.compile(r"connection refused")),
    (
        BROKEN,
        re.compile(
            r"\bEOF\b|connection reset by peer|broken pipe|server closed idle connection"
            r"|use of closed network connection"  # the end was read while the request was being written
        ),
    ),
)
_ITSELF: Final = re.compile(
    r"shutting down|not yet ready to handle request|before all known HTTP paths have been installed"
    r"|etcdserver|storage is (re)?initializing",
    re.IGNORECASE,
)
"""What an API server says that comes or goes. Any other 500 may well be about an answer of the webhook: of a
patch that cannot be applied it says neither whose it is nor that it came from a webhook."""
_ITS_STATUS: Final = (403, 429, 500, 503)
"""403: an admission plug-in whose informers have not synced."""


@dataclasses.dataclass(slots=True)
class Window:
    """When a fault was under way; it has no end while it lasts."""

    fault: str
    since: float
    until: float = math.inf


def said(answer: bytes) -> str:
    """The message of a Status, or the end of whatever came."""
    body = answer.partition(b"\r\n\r\n")[2]
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body[-300:].decode(errors="replace")


def kind(status: int, words: str) -> str:
    """By the status and the message; status 0 is an exception of the loader, its name and its text."""
    if not status:
        return AWAY if _ENDED.match(words) else OTHER
    if _REFUSAL.match(words):
        return REFUSED
    if calling := _CALLING.match(words):
        reason = _URL.sub("", words[calling.end() :])
        return next((name for name, pattern in _REASONS if pattern.search(reason)), FAILED)
    if "context deadline exceeded" in words:
        return LATE  # the request's own deadline, which nothing but a webhook can use up
    return AWAY if status in _ITS_STATUS and _ITSELF.search(words) else OTHER


def cause(kind: str, instant: float, windows: Iterable[Window]) -> str:
    """The fault that explains a loss of a kind that was seen at a moment."""
    for window in windows:
        if window.fault == EXPECTED.get(kind) and window.since <= instant <= window.until + GRACE:
            return window.fault
    return UNEXPLAINED
