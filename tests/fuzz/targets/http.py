"""The HTTP reader with its limits: it never raises, holds no more than it may, and cuts change nothing."""

from __future__ import annotations

from typing import Final

from tests.fuzz import mutators
from vestibule.httpserver.header_cache import HeaderCache
from vestibule.httpserver.limits import ServerLimits
from vestibule.httpserver.messages import HttpRequest
from vestibule.httpserver.request_parser import ENDED, RequestParser

LONGEST: Final = 4096
LIMITS: Final = ServerLimits(body=200, headers=512, header_count=8, pipeline=4)
WORDS: Final = (
    "POST / HTTP/1.1\r\n", "GET /x?timeout=3s HTTP/1.1\r\n", "HTTP/1.0", "HTTP/2.0", "\r\n", "\n",
    "\r\n\r\n", "Host: a\r\n", "host:", "Content-Length: 5\r\n", "Content-Length: 0005",
    "content-length: 5, 5", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: identity, chunked\r\n",
    "5\r\nhello\r\n", "0\r\n\r\n", "5;a=b\r\n", "Expect: 100-continue\r\n", "Connection: close\r\n",
    "Connection: Upgrade\r\nUpgrade: h2c\r\n", "Content-Type: application/json\r\n", "http://h/p", "*",
    "%00", "#", " ", "\t", "\x00", ":", "ffffffffffffffff\r\n",
)  # fmt: skip

Seen = tuple[list[tuple[str, str, str, bytes, str]], int, list[bytes]]


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    return mutators.flat(data, longest, seed, WORDS)


def check(data: bytes) -> None:
    """The first byte says how the rest is cut."""
    if not data:
        return
    step, raw = data[0] % 64 + 1, data[1:]
    full = _read([raw], HeaderCache())
    known = HeaderCache()
    pieces = [raw[at : at + step] for at in range(0, len(raw), step)]
    cut = _read(pieces, known)
    again = _read(pieces, known)
    if again != cut:
        raise AssertionError(f"remembered heads change what is read: {cut} and {again}")
    requests = min(len(full[0]), len(cut[0]), LIMITS.pipeline)
    if full[0][:requests] != cut[0][:requests]:
        raise AssertionError(f"cuts change what is read: {full} and {cut}")
    for method, path, _, body, _ in full[0]:
        if len(body) > LIMITS.body or not method.isascii() or not (path.startswith("/") or path == "*"):
            raise AssertionError(f"an impossible request: {method} {path} with {len(body)} bytes")


def _read(pieces: list[bytes], heads: HeaderCache) -> Seen:
    reader = RequestParser(LIMITS, lambda: 1000.0, heads)
    requests: list[tuple[str, str, str, bytes, str]] = []
    refusals: list[bytes] = []
    for piece in pieces:
        reader.feed(piece)
        if reader.held > LIMITS.body + len(piece):
            raise AssertionError(f"holds {reader.held} bytes")
        if len(reader.inbox) > LIMITS.pipeline + 2 * len(piece):
            raise AssertionError(f"queues {len(reader.inbox)}")
        for item in reader.inbox:
            if isinstance(item, bytes):
                refusals.append(item)
            else:
                request: HttpRequest = item[0]
                requests.append(
                    (request.method, request.path, request.query, request.body, request.content_type)
                )
        reader.inbox.clear()
    stage = reader.stage
    if refusals and not refusals[-1].startswith(b"HTTP/1.1 100") and stage != ENDED:
        raise AssertionError("refused, and reads on")
    reader.discard()
    return requests, stage, refusals
