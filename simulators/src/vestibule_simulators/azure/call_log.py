"""Every call that came, without what is secret in it, and who did not wait as long as he was told to."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

import msgspec

from vestibule_simulators.azure.responses import Json
from vestibule_simulators.https_server import SiteRequest, SiteResponse

_MOST: Final = 20_000
_SECRET: Final = ("secret", "password", "assertion", "token", "key")
_TOLERANCE: Final = 0.05
"""Seconds; clocks of two processes need not agree on more."""
_LONGEST: Final = 64 * 1024


class CallLog:
    """The calls so far."""

    def __init__(self) -> None:
        self.calls: deque[Json] = deque(maxlen=_MOST)
        self.violations: list[Json] = []
        self._not_before: dict[tuple[str, str], float] = {}

    def hear(self, call: SiteRequest, now: float) -> None:
        """A call comes; whether it comes too early."""
        key = (call.method, call.path.lower())
        due = self._not_before.pop(key, None)
        if due is not None and now < due - _TOLERANCE:
            self.violations.append({"method": call.method, "path": call.path, "early": round(due - now, 3)})

    def note(self, call: SiteRequest, reply: SiteResponse, now: float, principal: str, fault: str) -> None:
        """A call is answered."""
        held = _seconds(reply)
        # after the answer that begins an operation the SDKs look once at once, and nobody minds
        if held and (reply.status in (429, 503) or (reply.status == 202 and call.method == "GET")):
            self._not_before[call.method, call.path.lower()] = now + held
        self.calls.append(
            {
                "method": call.method,
                "path": call.path,
                "query": dict(call.query),
                "status": "cut" if reply.cut else reply.status,
                "principal": principal,
                "authorized": "authorization" in call.headers,
                "body": _shown(call),
                **({"fault": fault} if fault else {}),
                **({"headers": stored} if (stored := _headers(call)) else {}),
            }
        )

    def clear(self) -> None:
        """Forget the calls."""
        self.calls.clear()
        self.violations.clear()
        self._not_before.clear()


def _seconds(reply: SiteResponse) -> float:
    for name, unit in (("Retry-After", 1.0), ("x-ms-retry-after-ms", 0.001)):
        if name in reply.headers:
            return float(reply.headers[name]) * unit
    return 0.0


_KEPT: Final = (
    "if-match",
    "if-none-match",
    "x-ms-tags",
    "x-ms-version",
    "x-ms-blob-type",
    "x-ms-blob-content-type",
    "x-ms-blob-cache-control",
)


def _headers(call: SiteRequest) -> dict[str, str]:
    """What the shape of a blob call is made of."""
    return {name: call.headers[name] for name in _KEPT if name in call.headers}


def _shown(call: SiteRequest) -> Any:
    """The body, as a value where it is one; never a secret."""
    if not call.body or len(call.body) > _LONGEST:
        return None
    kind = call.headers.get("content-type", "")
    if "x-www-form-urlencoded" in kind:
        pairs = [part.partition("=") for part in call.body.decode("utf-8", "replace").split("&")]
        return {name: "…" if _secret(name) else value for name, _, value in pairs}
    try:
        return _without(msgspec.json.decode(call.body))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "…" if _secret(name) and isinstance(one, str) else _without(one)
            for name, one in value.items()
        }
    return [_without(one) for one in value] if isinstance(value, list) else value


def _secret(name: str) -> bool:
    lowered = name.lower()
    return lowered in _SECRET or lowered.endswith(("secret", "password", "assertion", "token"))
