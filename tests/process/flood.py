"""A stranger who opens connections and holds them, as a program: ``python -m tests.process.flood``.

It prints one line when all are opened, then holds what the server leaves open until its input ends.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import socket
import ssl
import sys
import threading
from collections.abc import Callable

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
HELLO = bytes.fromhex("16030100c8010000c40303")  # 200 bytes announced, 6 sent


class Flood:
    """Connections of one peer address, of one kind."""

    def __init__(self, port: int, source: str, kind: str, size: int) -> None:
        self._address, self._source = ("127.0.0.1", port), source
        self._size = size
        self._open: Callable[[], socket.socket] = getattr(self, f"_{kind}")
        self._held: list[socket.socket] = []
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._lock = threading.Lock()
        self.opened = 0
        self.failed = 0

    def run(self, number: int, threads: int) -> None:
        """Open so many, by so many threads."""
        workers = [threading.Thread(target=self._work, args=(number // threads,)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def _work(self, number: int) -> None:
        for _ in range(number):
            try:
                peer = self._open()
            except OSError:
                self.failed += 1
                continue
            with self._lock:
                self.opened += 1
                self._held.append(peer)
                if len(self._held) % 500 == 0:
                    self._held = [one for one in self._held if not _ended(one)]

    def _silent(self) -> socket.socket:
        return socket.create_connection(self._address, 20, (self._source, 0))

    def _half(self) -> socket.socket:
        """A handshake that is begun and not gone on with."""
        peer = self._silent()
        peer.sendall(HELLO)
        return peer

    def _tls(self) -> socket.socket:
        peer = self._silent()
        try:
            return self._context.wrap_socket(peer)
        except OSError:
            peer.close()
            raise

    def _used(self) -> socket.socket:
        """One that has sent a request, too."""
        peer = self._tls()
        peer.sendall(REQUEST)
        peer.recv(4096)
        return peer

    def _body(self) -> socket.socket:
        """One that has sent all but the last byte of a body."""
        peer = self._tls()
        head = f"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: {self._size + 1}\r\n\r\n"
        with contextlib.suppress(OSError):
            peer.sendall(head.encode() + b" " * self._size)
        return peer


def _ended(peer: socket.socket) -> bool:
    """Whether the server has closed; then it is closed here, too."""
    try:
        plain = socket.socket.recv if not isinstance(peer, ssl.SSLSocket) else None
        peer.setblocking(False)
        data = plain(peer, 1) if plain else peer.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        data = b""
    if not data:
        peer.close()
    return not data


def main() -> None:
    """Open, say so, hold."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--source", default="127.0.0.2")
    parser.add_argument("--kind", default="tls")
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--threads", type=int, default=4)
    given = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    flood = Flood(given.port, given.source, given.kind, given.size)
    flood.run(given.number, given.threads)
    print(flood.opened, flood.failed, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
