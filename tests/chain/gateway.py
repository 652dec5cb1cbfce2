"""The way out of a container: an HTTP proxy behind which the clouds' doubles answer by their real names.

An SDK that is told of a proxy asks it for ``sts.eu-west-1.amazonaws.com:443``; the tunnel ends here, in TLS
with a certificate for that very name. So no address in the injected environment or credentials file has to be
rewritten, and a wrong address is not hidden by an override. What no double owns is refused with 403 and
recorded in ``strays``: nothing leaves the machine. Faults are taken in order, by host.
"""

from __future__ import annotations

import datetime
import http.server
import socketserver
import ssl
import sys
import threading
import time
from collections.abc import Sequence
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self
from urllib.parse import parse_qs, urlsplit

from vestibule.pki import certificate_authority

_DAY = datetime.timedelta(days=1)


class Call(NamedTuple):
    """What a double is asked."""

    host: str
    method: str
    path: str
    query: dict[str, str]
    headers: Message
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        """The body as a form; of a repeated name the first value."""
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}


class Reply(NamedTuple):
    """What it answers."""

    status: int
    body: bytes = b""
    kind: str = "application/json"


class Double(Protocol):
    """A cloud, or a part of one."""

    def owns(self, host: str) -> bool:
        """Whether this name is its own."""

    def answer(self, call: Call) -> Reply:
        """Answer one call; never raises for what a client may send."""


class Fault(NamedTuple):
    """Instead of the answer to the next call for a host whose name contains the text."""

    host: str
    status: int
    seconds: float = 0.0


class Certificates:
    """A throw-away authority, and a serving context per host name, made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        now = datetime.datetime.now(datetime.UTC)
        self._pair = certificate_authority.new_ca("chain", now=now, life=_DAY)
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        self.bundle = folder / "ca.pem"
        self.bundle.write_text(self._pair.certificate)

    def context(self, host: str) -> ssl.SSLContext:
        with self._lock:
            if host not in self._contexts:
                now = datetime.datetime.now(datetime.UTC)
                leaf = certificate_authority.new_leaf(self._pair, [host], now=now, life=_DAY)
                file = self._folder / f"{host}.pem"
                file.touch(mode=0o600)
                file.write_text(leaf.certificate + leaf.key)
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(file)
                self._contexts[host] = context
            return self._contexts[host]


class Gateway:
    """``with Gateway(certificates, doubles) as gateway:`` serves on a port of 127.0.0.1."""

    def __init__(self, certificates: Certificates, doubles: Sequence[Double]) -> None:
        self.certificates, self.doubles = certificates, doubles
        self.calls: list[Call] = []
        self.strays: list[str] = []
        """Hosts that were asked for and belong to no double."""
        self.broken: list[str] = []
        """Conversations that ended in an error, such as a client that does not trust the certificate."""
        self.faults: list[Fault] = []
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def owner(self, host: str) -> Double | None:
        return next((double for double in self.doubles if double.owns(host)), None)

    def asked(self, host: str) -> list[Call]:
        """The calls to a host, by its exact name."""
        return [call for call in self.calls if call.host == host]

    def answer(self, call: Call) -> Reply:
        """Pass a call to its owner, unless a fault is due."""
        with self._lock:
            self.calls.append(call)
            fault = next((fault for fault in self.faults if fault.host in call.host), None)
            if fault is not None:
                self.faults.remove(fault)
        if fault is not None:
            time.sleep(fault.seconds)
            return Reply(fault.status)
        owner = self.owner(call.host)
        return owner.answer(call) if owner is not None else self.refuse(call.host)

    def refuse(self, host: str) -> Reply:
        """403: no SDK repeats it, so that a test of a failure is quick."""
        with self._lock:
            self.strays.append(host)
        return Reply(403, b"nothing lies outside", "text/plain")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        self.gateway.broken.append(repr(sys.exception()))


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10.0
    server: _Server
    tunnel: str = ""

    def do_CONNECT(self) -> None:
        host = self.path.rpartition(":")[0]
        gateway = self.server.gateway
        if gateway.owner(host) is None:
            self._send(gateway.refuse(host))
            self.close_connection = True
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()
        self.rfile.close()
        # the handler goes on inside the tunnel: setup() and handle() of the base class know one socket only
        self.connection = self.request = gateway.certificates.context(host).wrap_socket(
            self.connection, server_side=True
        )
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")
        self.tunnel, self.close_connection = host, False

    def finish(self) -> None:
        super().finish()
        if self.tunnel:
            self.connection.close()  # the server closes the socket it accepted, which gave up its descriptor

    def _any(self) -> None:
        place = urlsplit(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        call = Call(
            host=self.tunnel or place.hostname or "127.0.0.1",
            method=self.command,
            path=place.path or "/",
            query={name: values[0] for name, values in parse_qs(place.query).items()},
            headers=self.headers,
            body=self.rfile.read(size),
        )
        self._send(self.server.gateway.answer(call))

    do_GET = do_POST = do_PUT = do_HEAD = _any  # noqa: N815 - names the base class looks for

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: object) -> None:
        """Nothing: ``calls`` and ``strays`` hold what happened."""
