"""The request target: path, query, and the time the caller leaves us.

kube-apiserver says how long it waits in ``?timeout=``, as a Go duration; we take half of it, so that our
own refusal arrives before its patience ends. Parsed targets are cached: a cluster sends the same two or
three for ever.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import httptools

from vestibule import gostrconv

__all__ = ["InvalidRequestTarget", "RequestTarget", "parse"]

_LONGEST_TIMEOUT = 30.0  # seconds; the API server allows no webhook more
_CACHED_LENGTH = 256  # bytes; with 64 entries a hostile client can fill 16 KiB


class InvalidRequestTarget(ValueError):
    """The bytes between method and version are no target."""


class RequestTarget(NamedTuple):
    """A parsed target."""

    path: str
    query: str
    seconds: float | None
    """Half of the caller's timeout; None if it named none that can be used."""


def parse(raw: bytes) -> RequestTarget:
    """Split a target; raises InvalidRequestTarget. Origin form (``/path?query``), absolute form and ``*`` are
    targets."""
    return _cached(raw) if len(raw) <= _CACHED_LENGTH else _parsed(raw)


def _parsed(raw: bytes) -> RequestTarget:
    if not raw.startswith(b"/") and raw != b"*":
        try:
            url = httptools.parse_url(raw)
        except httptools.HttpParserError as error:
            raise InvalidRequestTarget from error
        if not url.schema:
            raise InvalidRequestTarget
        raw = (url.path or b"/") + (b"?" + url.query if url.query else b"")
    path, _, query = raw.partition(b"#")[0].decode("latin-1").partition("?")
    return RequestTarget(path, query, _half_of_timeout(query))


_cached = lru_cache(maxsize=64)(_parsed)


def _half_of_timeout(query: str) -> float | None:
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        seconds = gostrconv.duration(value) if name == "timeout" else None
        if seconds is not None:
            return min(seconds, _LONGEST_TIMEOUT) / 2 or None
    return None
