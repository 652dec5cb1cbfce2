"""Properties of the connection over all inputs, fed through a transport that only remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import cast

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.serving.live import echo
from tests.serving.memory import Memory

from vestibule.httpserver import request_parser
from vestibule.httpserver.connection import Connection
from vestibule.httpserver.server import ServerLimits
from vestibule.httpserver.server_state import ServerState

LIMITS = ServerLimits(body=200, headers=400, header_count=12, pipeline=1000)


class Clock:
    """As much of a loop as a connection with a synchronous handler needs."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []

    def time(self) -> float:
        return 1000.0

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def turn(self) -> None:
        while self.soon:
            self.soon.pop()()


def service() -> ServerState:
    created = ServerState(echo, LIMITS, None)
    created.loop = cast(asyncio.AbstractEventLoop, Clock())
    return created


def answers(pieces: Sequence[bytes], shared: ServerState, *, reads: int = 1) -> tuple[bytes, bool]:
    """What a connection that reads ``pieces`` writes, and whether it then closes; it gets its turn after
    every so many reads."""
    loop = cast(Clock, shared.loop)
    memory = Memory()
    connection = Connection(shared)
    shared.stats.connections += 1
    connection.connection_made(cast(asyncio.Transport, memory))
    for number, piece in enumerate(filter(None, pieces), 1):
        connection.data_received(piece)
        assert connection._reader.held <= LIMITS.body
        if number % reads == 0:
            loop.turn()
    loop.turn()
    connection.connection_lost(None)
    assert shared.stats.buffered == 0
    assert shared.stats.connections == 0
    return memory.written, memory.closing


def split(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    points = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(points)]


bodies = st.binary(max_size=120)
paths = st.sampled_from(["/", "/mutate?timeout=10s", "/a/b?c", "*", "http://host/x"])
fields = st.lists(
    st.sampled_from(
        [
            b"X-Host: a\r\n",
            b"Content-Type: application/json\r\n",
            b"X-Long: " + b"y" * 60 + b"\r\n",
            b"connection: keep-alive\r\n",
            b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
            b"Accept:\r\n",
        ]
    ),
    max_size=3,
    unique=True,
)


@st.composite
def valid_requests(draw: st.DrawFn) -> bytes:
    path = draw(paths).encode()
    headers = b"".join(draw(fields))
    kind = draw(st.sampled_from(["none", "length", "chunks", "head", "expect"]))
    if kind in {"none", "head"}:
        return (
            (b"GET " if kind == "none" else b"HEAD ") + path + b" HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n"
        )
    body = draw(bodies)
    if kind == "length":
        return b"POST %b HTTP/1.1\r\nHost: x\r\n%bContent-Length: %d\r\n\r\n%b" % (
            path,
            headers,
            len(body),
            body,
        )
    if kind == "expect":
        head = b"PUT %b HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n%bContent-Length: %d\r\n\r\n"
        return head % (path, headers, len(body)) + body
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in split(body, [7, 50]) if part)
    trailer = draw(st.sampled_from([b"", b"X-Sum: 1\r\nContent-Type: no\r\n"]))
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n%b\r\n"
    return head % (path, headers) + chunks + b"0\r\n" + trailer + b"\r\n"


pipelines = st.lists(valid_requests(), min_size=1, max_size=6).map(b"".join)
cut_lists = st.lists(st.integers(0, 5000), max_size=12)


@settings(max_examples=300, deadline=None)
@given(pipelines, cut_lists)
def test_how_a_valid_pipeline_is_split_into_reads_changes_no_answer(data: bytes, cuts: list[int]) -> None:
    full = answers([data], service())
    shared = service()

    assert answers(split(data, cuts), shared) == full
    assert answers(split(data, cuts), shared, reads=3) == full  # now with heads remembered, and read ahead
    assert full[0].count(b"HTTP/1.1 200 OK\r\n") >= 1
    assert b" 400 " not in full[0]


@settings(max_examples=60, deadline=None)
@given(pipelines)
def test_a_valid_pipeline_may_come_byte_by_byte(data: bytes) -> None:
    assert answers([bytes([byte]) for byte in data], service()) == answers([data], service())


@settings(max_examples=300, deadline=None)
@given(st.lists(valid_requests(), min_size=1, max_size=4), cut_lists)
def test_requests_read_one_by_one_get_the_answers_of_a_pipeline(
    requests: list[bytes], cuts: list[int]
) -> None:
    """Each request in a read of its own is where heads are recognised by their bytes."""
    shared = service()
    expected = answers([b"".join(requests)], service())

    for _ in range(2):
        assert answers(requests, shared) == expected


@settings(max_examples=400, deadline=None)
@given(st.lists(st.binary(max_size=600), max_size=6))
@example([b"\r", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
@example([b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 600])
def test_garbage_never_raises(pieces: list[bytes]) -> None:
    answers(pieces, service())


@settings(max_examples=600, deadline=None)
@given(
    pipelines,
    st.lists(
        st.tuples(st.integers(0, 5000), st.sampled_from([b"", b"\r", b"\n", b"\0", b"A", b":", b" ", b"9"]))
    ),
    cut_lists,
)
def test_a_damaged_request_never_raises_and_ends_the_connection_at_most_once(
    data: bytes, damages: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    for place, byte in damages:
        place %= len(data)  # noqa: PLW2901 - the strategy does not know the length
        data = data[:place] + byte + data[place + 1 :]
    shared = service()

    written, closing = answers(split(data, cuts), shared)

    assert written.count(b"Connection: close\r\n") == closing
    assert answers(split(data, cuts), shared) == (written, closing)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.binary(max_size=300))
def test_after_the_end_nothing_is_parsed(before: bytes, after: bytes) -> None:
    incoming = request_parser.RequestParser(LIMITS, lambda: 0.0, service().heads)
    incoming.feed(before)
    incoming.end()
    queued = list(incoming.inbox)
    incoming.feed(after)

    assert list(incoming.inbox) == queued
    incoming.discard()
