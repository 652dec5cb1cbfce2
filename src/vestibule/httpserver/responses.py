"""Responses as bytes: rendered heads, cached by shape, and the engine's own refusals, rendered once.

No decision is taken here. Every answer goes out as one ``bytes`` in one write; a head costs one look-up.
"""

from __future__ import annotations

from functools import lru_cache
from http import HTTPStatus
from typing import Final

from vestibule.httpserver.messages import HttpResponse

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
_NO_CONTENT: Final = 204

KEEP: Final = ""
CLOSE: Final = "close"
KEEP_1_0: Final = "keep-alive"  # HTTP/1.0 clients keep a connection only on request

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

INTERNAL_ERROR: Final = HttpResponse(500, b"internal error", _TEXT)
UNAVAILABLE: Final = HttpResponse(503, b"unavailable, try again", _TEXT, retry_after=1)
BUSY: Final = HttpResponse(429, b"too many requests, try again", _TEXT, retry_after=1)


def render(response: HttpResponse, connection: str, method: str) -> bytes:
    """The response to a request of ``method`` as it goes onto the wire."""
    body = response.body
    head = _head(response.status, response.content_type, response.retry_after, connection)
    if response.status == _NO_CONTENT:
        return head + b"\r\n"
    return b"%b%d\r\n\r\n%b" % (head, len(body), b"" if method == "HEAD" else body)


@lru_cache(maxsize=128)
def _head(status: int, content_type: str, retry_after: int | None, connection: str) -> bytes:
    """All up to the value of Content-Length; for 204, which has none, up to the empty line."""
    text = f"HTTP/1.1 {status} {_phrase(status)}\r\n"
    if connection:
        text += f"Connection: {connection}\r\n"
    if retry_after is not None:
        text += f"Retry-After: {retry_after}\r\n"
    if status != _NO_CONTENT:
        text += f"Content-Type: {content_type}\r\nContent-Length: "
    return text.encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


@lru_cache(maxsize=32)
def final(status: int, *, retry_after: int | None = None) -> bytes:
    """A refusal after which the connection ends."""
    body = _phrase(status).lower().encode("latin-1")
    return render(HttpResponse(status, body, _TEXT, retry_after), CLOSE, "")
