"""Answers in the shapes of ARM, and refusals as exceptions that carry one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vestibule_simulators.https_server import SiteResponse

Json = dict[str, Any]


class ArmError(Exception):
    """The call is not done; ``code`` and ``text`` are told as ARM tells them."""

    def __init__(self, status: int, code: str, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{code}: {text}")
        self.status, self.code, self.text, self.headers = status, code, text, dict(headers or {})


def document(status: int, body: Any, headers: Mapping[str, str] | None = None) -> SiteResponse:
    """A JSON body."""
    more = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
    return SiteResponse(status, msgspec.json.encode(body), more)


def nothing(status: int, headers: Mapping[str, str] | None = None) -> SiteResponse:
    """No body."""
    return SiteResponse(status, b"", dict(headers or {}))


def refused(refusal: ArmError) -> SiteResponse:
    """An error as ARM writes it; the SDKs read the code here."""
    body = {"error": {"code": refusal.code, "message": refusal.text}}
    return document(refusal.status, body, {"x-ms-error-code": refusal.code, **refusal.headers})


def bad(text: str, code: str = "InvalidRequestContent") -> ArmError:
    """The body or a name is not what the resource provider takes."""
    return ArmError(400, code, text)
