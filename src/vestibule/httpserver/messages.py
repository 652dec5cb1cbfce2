"""What passes between the HTTP engine and the application: one request in, one response out.

Values only; reading them off the wire is ``request_parser``, writing them onto it is ``answers``.
Both are msgspec structs outside the garbage collector's lists: they hold no cycle, and one of each is made
per call.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

__all__ = ["Handler", "HttpRequest", "HttpResponse"]


class HttpRequest(msgspec.Struct, gc=False):
    """A request whose body has arrived in full."""

    method: str
    """Upper case, as sent."""
    path: str
    """Starts with a slash (or is ``*``); not percent-decoded, without the query."""
    query: str
    """What follows the question mark, not decoded; empty if there is none."""
    body: bytes
    """Never longer than ``Limits.body``."""
    content_type: str
    """The header as sent; empty if there is none."""
    deadline: float
    """``loop.time()`` at which the answer must have been given."""


class HttpResponse(msgspec.Struct, frozen=True, gc=False):
    """An answer; length and connection headers are the engine's business."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    retry_after: int | None = None
    """Whole seconds, rendered as ``Retry-After``: the API server retries 429 and 5xx only with it."""


Handler = Callable[[HttpRequest], HttpResponse | Coroutine[Any, Any, HttpResponse]]
"""Answers at once (the hot path: no task is made) or with a coroutine that is bounded by the request's
deadline."""
