"""One TLS keep-alive connection of our loader: prebuilt bytes out, whole answers in.

No event loop and no HTTP library: a loader must cost less per request than the server it loads, and a
plain SSLSocket is the cheapest TLS that Python has. Answers end by Content-Length or by the last chunk,
which Go sends for long bodies.
"""

from __future__ import annotations

import select
import socket
import ssl


class Closed(ConnectionError):
    """The server closed the connection inside or instead of an answer."""


class Connection:
    """At most one request is in flight; `began` is the moment its latency counts from, `answer` is the last
    whole answer, head included."""

    __slots__ = ("_buffer", "_socket", "answer", "began")

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        plain = socket.create_connection(("127.0.0.1", port), timeout=10)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = trust.wrap_socket(plain, server_hostname="127.0.0.1")
        self._socket.setblocking(False)
        self._buffer = self.answer = b""
        self.began = 0.0

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def send(self, request: bytes, began: float) -> None:
        self.began = began
        rest = request
        while rest:
            try:
                sent = self._socket.write(rest)
            except ssl.SSLWantWriteError:
                if not select.select([], [self._socket], [], 10)[1]:
                    raise Closed("server took no bytes for 10 s") from None
                continue
            rest = rest[sent:]

    def receive(self) -> int:
        """The status of the answer once it is whole, else 0. Raises Closed at the end of the stream."""
        while True:
            try:
                piece = self._socket.read(65_536)
            except ssl.SSLWantReadError:
                return 0
            if not piece:
                raise Closed("closed by the server")
            data = self._buffer + piece if self._buffer else piece
            status = finished(data)
            if status:
                self._buffer, self.answer = b"", data
                return status
            self._buffer = data

    def wait(self, seconds: float) -> int:
        """Like `receive`, but waits for the answer. Raises Closed when it takes longer."""
        while True:
            if status := self.receive():
                return status
            if not select.select([self._socket], [], [], seconds)[0]:
                raise Closed(f"no answer in {seconds:g} s")


def finished(data: bytes) -> int:
    """The status code when `data` is one whole answer, else 0."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return 0
    head = data[:end].lower()
    at = head.find(b"\r\ncontent-length:")
    if at >= 0:
        stop = head.find(b"\r\n", at + 17)
        length = int(head[at + 17 : stop if stop >= 0 else end])
        if len(data) < end + 4 + length:
            return 0
    elif b"\r\ntransfer-encoding: chunked" in head:
        if not data.endswith(b"\r\n0\r\n\r\n"):
            return 0
    else:
        raise Closed("answer has neither Content-Length nor chunks")
    return int(data[9:12])
