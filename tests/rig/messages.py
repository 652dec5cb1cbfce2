"""HTTP/1.1 on the wire, as little as a proxy needs: heads, and bodies in pieces with their framing kept.

Kept apart from the product's own parser and from ``http.client``: a proxy must pass on what it does not
understand. Upgrades (exec, attach) are not supported.
"""

from __future__ import annotations

import asyncio
import http
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

LIMIT = 1 << 20
"""Bytes of one head; the API server's own limit is the same."""
_PIECE = 1 << 16


class Head(NamedTuple):
    """The first line and the headers, as text and as they came."""

    first: str
    headers: dict[str, str]
    raw: bytes

    @property
    def status(self) -> int:
        return int(self.first.split(" ", 2)[1])

    @property
    def closes(self) -> bool:
        return self.headers.get("connection", "").lower() == "close" or "HTTP/1.0" in self.first


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """None when the other side closed instead of sending one. Raises OSError, ValueError."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as error:
        raise ValueError("head is too long") from error
    first, *lines = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return Head(first, {name.strip().lower(): value.strip() for name, _, value in pairs}, raw)


async def read_body(reader: asyncio.StreamReader, head: Head, *, to: str = "") -> AsyncIterator[bytes]:
    """The body as it is on the wire, piece by piece as it comes; ``to`` is the method that was answered.

    Raises asyncio.IncompleteReadError when the other side stops early.
    """
    if to:
        if to == "HEAD" or head.status in (204, 304) or head.status < 200:
            return
        endless = "content-length" not in head.headers and not _chunked(head)
    else:
        endless = False
    if _chunked(head):
        async for piece in _chunks(reader):
            yield piece
    elif endless:
        while piece := await reader.read(_PIECE):
            yield piece
    else:
        left = int(head.headers.get("content-length", "0"))
        while left > 0:
            piece = await reader.read(min(left, _PIECE))
            if not piece:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(piece)
            yield piece


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        if size == 0:
            trailer = b""
            while not trailer.endswith(b"\r\n\r\n") and trailer != b"\r\n":
                trailer += await reader.readuntil(b"\r\n")
            yield line + trailer
            return
        yield line + await reader.readexactly(size + 2)


def _chunked(head: Head) -> bool:
    return "chunked" in head.headers.get("transfer-encoding", "").lower()


def answer(code: int, body: bytes, headers: Mapping[str, str]) -> bytes:
    """A whole answer of our own."""
    try:
        phrase = http.HTTPStatus(code).phrase
    except ValueError:
        phrase = "Unknown"
    reported = {"Content-Type": "text/plain; charset=utf-8", **headers, "Content-Length": str(len(body))}
    lines = [f"HTTP/1.1 {code} {phrase}", *(f"{name}: {value}" for name, value in reported.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body
