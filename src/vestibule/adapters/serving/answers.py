"""Responses as bytes: rendered heads, remembered by shape, and the engine's own refusals, rendered once.

No decision is taken here. Every answer goes out as one ``bytes`` in one write; a head costs one cache
look-up.
"""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from typing import Final

from vestibule.adapters.serving.messages import HttpResponse

__all__ = [
    "BUSY",
    "CLOSE",
    "CONTINUE",
    "INTERNAL_ERROR",
    "KEEP",
    "KEEP_1_0",
    "UNAVAILABLE",
    "final",
    "render",
]

_TEXT: Final = "text/plain; charset=utf-8"

KEEP: Final = ""
CLOSE: Final = "close"
KEEP_1_0: Final = "keep-alive"  # HTTP/1.0 clients keep a connection only if told so

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

INTERNAL_ERROR: Final = HttpResponse(500, b"internal error", _TEXT)
UNAVAILABLE: Final = HttpResponse(503, b"unavailable, try again", _TEXT, retry_after=1)
BUSY: Final = HttpResponse(429, b"too many requests, try again", _TEXT, retry_after=1)


def render(response: HttpResponse, connection: str, *, bodiless: bool = False) -> bytes:
    """The response as it goes onto the wire; ``bodiless`` for HEAD, whose length is still that of the
    body."""
    body = response.body
    head = _head(response.status, response.content_type, response.retry_after, connection)
    if response.status == HTTPStatus.NO_CONTENT:
        return head + b"\r\n"
    return b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), b"" if bodiless else body)


@lru_cache(maxsize=128)
def _head(status: int, content_type: str, retry_after: int | None, connection: str) -> bytes:
    lines = [f"HTTP/1.1 {status} {_phrase(status)}"]
    if status != HTTPStatus.NO_CONTENT:
        lines.append(f"Content-Type: {content_type}")
    if retry_after is not None:
        lines.append(f"Retry-After: {retry_after}")
    if connection:
        lines.append(f"Connection: {connection}")
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


@lru_cache(maxsize=32)
def final(status: int, *, retry_after: int | None = None) -> bytes:
    """A refusal after which the connection ends."""
    body = _phrase(status).lower().encode("latin-1")
    return render(HttpResponse(status, body, _TEXT, retry_after), CLOSE)
