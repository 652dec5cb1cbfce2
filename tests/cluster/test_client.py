"""Streams that hang, as a client meets them: at the start, in the middle, at the end; and when a call is made
again. Real servers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

import pytest

from vestibule import errors
from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube.access import AnonymousCredential, ClusterAccess
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import Client

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(text: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(text), text)


def read(
    serve: Serve, *, seconds: float, timeout: float
) -> tuple[list[bytes], errors.VestibuleError | None, float]:
    """The lines of one stream from a server, the error that ended it, and how long it took."""

    async def conversation() -> tuple[list[bytes], errors.VestibuleError | None]:
        over = asyncio.Event()

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            await serve(reader, writer)
            await over.wait()
            writer.close()

        server = await asyncio.start_server(accepted, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Client(
            ClusterAccess(f"http://127.0.0.1:{port}", None, AnonymousCredential()), timeout=timeout
        )
        lines: list[bytes] = []
        try:
            async with asyncio.timeout(20):
                async for line in client.lines(ApiRequest("GET", "/"), seconds):
                    lines.append(line)
        except errors.VestibuleError as error:
            return lines, error
        else:
            return lines, None
        finally:
            await client.close()
            over.set()
            server.close()
            await server.wait_closed()

    began = time.monotonic()
    lines, error = asyncio.run(conversation())
    return lines, error, time.monotonic() - began


async def nothing(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    """Not even a head."""


async def one_line(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + chunk(b"one\n"))


async def whole(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + chunk(b"one\ntw") + chunk(b"o\n") + END)


async def belated(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A backlog: lines go on beyond the end that was asked for, each soon after the one before."""
    writer.write(HEAD)
    for number in range(8):
        writer.write(chunk(b"%d\n" % number))
        await asyncio.sleep(0.1)
    writer.write(END)


def test_a_stream_that_ends_as_asked_is_read_to_its_end() -> None:
    lines, error, _ = read(whole, seconds=10, timeout=10)

    assert (lines, error) == ([b"", b"one", b"two"], None)


def test_a_stream_that_is_never_opened_is_given_up() -> None:
    lines, error, took = read(nothing, seconds=100, timeout=0.5)

    assert (lines, str(error)) == ([], "the watch was not opened in 0.5 s")
    assert took < 5


def test_a_stream_that_falls_silent_is_given_up_soon_after_its_end() -> None:
    lines, error, took = read(one_line, seconds=0.5, timeout=1.0)

    assert lines == [b"", b"one"]
    assert str(error).startswith("the watch was silent for")
    assert 1.5 <= took < 6


def test_a_stream_that_still_speaks_after_its_end_is_heard_out() -> None:
    lines, error, _ = read(belated, seconds=0.1, timeout=5.0)

    assert (lines, error) == ([b"", *(b"%d" % number for number in range(8))], None)


@pytest.mark.parametrize(
    ("status", "error"), [(410, errors.Gone), (403, errors.Forbidden), (500, errors.Unavailable)]
)
def test_a_refused_stream_says_what_to_do(status: int, error: type[errors.VestibuleError]) -> None:
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = b'{"kind":"Status","message":"because"}'
        writer.write(b"HTTP/1.1 %d No\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))

    raised = read(refuse, seconds=1, timeout=5)[1]

    assert type(raised) is error
    assert "because" in str(raised)


def ask(call: ApiRequest, *heads: bytes) -> tuple[int, list[float]]:
    """The status in the end, from a server that gives these answers in turn, and when each was asked for."""

    async def conversation() -> tuple[int, list[float]]:
        times: list[float] = []

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.readline():
                times.append(time.monotonic())
                await reader.readuntil(b"\r\n\r\n")
                head = heads[min(len(times), len(heads)) - 1]
                writer.write(b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % head)
            writer.close()

        server = await asyncio.start_server(accepted, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Client(ClusterAccess(f"http://127.0.0.1:{port}", None, AnonymousCredential()), timeout=20)
        try:
            return (await client.send(call)).status, times
        finally:
            await client.close()
            server.close()
            await server.wait_closed()

    return asyncio.run(conversation())


BUSY = b"429 Too Many Requests\r\nRetry-After: 1"
AWAY = b"503 Service Unavailable\r\nRetry-After: 1"


@pytest.mark.parametrize("method", ["GET", "PATCH"])
@pytest.mark.parametrize("refusal", [BUSY, AWAY], ids=["429", "503"])
def test_who_is_reported_to_come_again_does_so_and_not_before(method: str, refusal: bytes) -> None:
    status, times = ask(ApiRequest(method, "/"), refusal, b"200 OK")

    assert (status, len(times)) == (200, 2)
    assert times[1] - times[0] >= 1


def test_a_write_is_not_sent_again_where_the_server_may_have_done_it() -> None:
    for message in (b"503 Service Unavailable", b"500 Internal Server Error"):
        assert ask(ApiRequest("PATCH", "/"), message, b"200 OK")[0] == int(message[:3])
        assert ask(ApiRequest("GET", "/"), message, b"200 OK")[0] == 200


def test_an_answer_without_end_of_a_cluster_that_a_tenant_names_is_given_up() -> None:
    """Its administrator decides what its API server sends."""

    async def conversation() -> str:
        async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD)
            with contextlib.suppress(OSError):
                while True:
                    writer.write(chunk(b"x" * 65536))
                    await writer.drain()

        server = await asyncio.start_server(endless, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        access = ClusterAccess(
            f"http://127.0.0.1:{port}", None, AnonymousCredential(), guard=AddressGuard(loopback=True)
        )
        client = Client(access, timeout=20)
        try:
            async with asyncio.timeout(15):
                await client.send(ApiRequest("PATCH", "/"))
        except errors.Unavailable as error:
            return str(error)
        finally:
            await client.close()
            server.close()
        return ""

    assert "an answer is larger than we take" in asyncio.run(conversation())
