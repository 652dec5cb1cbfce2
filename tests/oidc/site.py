"""A site before a store: HTTPS for everybody, as a web server, a CDN or a front door is; it can be slow to
notice, keep an old copy, send on, or refuse."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Self

from tests.doctor.issuer import serving
from tests.serving.authority import Authority
from vestibule.clouds import publisher
from vestibule.clouds.objectstore.ports import ObjectStore


class Answer(NamedTuple):
    status: int
    body: bytes = b""
    location: str = ""


class Site:
    """``with Site(authority, store) as site: site.url``."""

    def __init__(self, authority: Authority, store: ObjectStore) -> None:
        self.store, self._authority = store, authority
        self.answer: Callable[[str], Answer | None] = lambda _: None
        """What a path answers instead; None: what the store has."""
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.lstrip("/")
                said = site.answer(name)
                if said is None:
                    stored = site.store.read(name)
                    said = Answer(404) if stored is None else Answer(200, stored.body)
                self.send_response(said.status)
                if said.location:
                    self.send_header("Location", said.location)
                self.send_header("Content-Length", str(len(said.body)))
                self.end_headers()
                self.wfile.write(said.body)

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._server.socket = serving(authority).wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"

    @property
    def fetch(self) -> publisher.Fetch:
        return publisher.fetching(self._authority.trusting())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()


class Clock:
    """Time that passes when somebody waits."""

    def __init__(self, now: float | None = None) -> None:
        self.now = time.time() if now is None else now

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds
