"""Clients that say exactly the bytes they are told, over real sockets, and wait for nothing for ever."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from types import TracebackType
from typing import NamedTuple, Self

Address = tuple[str, int]


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class Wire:
    """One connection; each wait on it is bounded by ``timeout`` seconds."""

    def __init__(
        self,
        address: Address,
        *,
        tls: ssl.SSLContext | None = None,
        timeout: float = 5.0,
        source: str = "127.0.0.1",
    ) -> None:
        here = (source, 0) if source != "127.0.0.1" else None
        self.socket = socket.create_connection(address, timeout, here)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as every HTTP client does
        if tls is not None:
            try:
                self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
            except OSError:
                self.socket.close()
                raise
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, *, bodiless: bool = False) -> Answer:
        """The next response; raises EOFError if the server has closed instead."""
        line = self._file.readline()
        if not line:
            raise EOFError
        version, status, _ = line.split(b" ", 2)
        assert version == b"HTTP/1.1"
        headers = {}
        while line := self._file.readline().rstrip(b"\r\n"):
            name, value = line.decode().split(": ", 1)
            assert name.lower() not in headers
            headers[name.lower()] = value
        length = 0 if bodiless else int(headers.get("content-length", "0"))
        body = self._file.read(length)
        assert len(body) == length
        return Answer(int(status), headers, body)

    def ask(self, method: str = "GET", path: str = "/", body: bytes = b"", headers: str = "") -> Answer:
        self.send(request(method, path, body, headers))
        return self.answer(bodiless=method == "HEAD")

    def ended(self) -> bool:
        """Wait until the server has closed; False if it has not within the time limit or sends something."""
        try:
            return not self._file.read(1)
        except TimeoutError:
            return False
        except OSError:
            return True  # a reset ends a connection as well


def request(method: str = "GET", path: str = "/", body: bytes = b"", headers: str = "") -> bytes:
    length = f"Content-Length: {len(body)}\r\n" if body or method == "POST" else ""
    return f"{method} {path} HTTP/1.1\r\nHost: test\r\n{length}{headers}\r\n".encode() + body


def ask(
    address: Address,
    method: str = "GET",
    path: str = "/",
    body: bytes = b"",
    *,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """One request on a connection of its own."""
    with Wire(address, tls=tls) as wire:
        return wire.ask(method, path, body)


def until(condition: Callable[[], object], *, within: float = 5.0) -> bool:
    """Wait for ``condition`` to hold; False if it does not in time."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
