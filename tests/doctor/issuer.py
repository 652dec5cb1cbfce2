"""A cluster's issuer as the clouds see it: keys, tokens, and an HTTPS server that may get things wrong."""

from __future__ import annotations

import base64
import datetime
import functools
import http.server
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tests.serving.authority import Authority

Json = dict[str, Any]
DISCOVERY, KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"
SUBJECT = "system:serviceaccount:team-a:app"


@functools.cache
def rsa_key(number: int = 0, bits: int = 2048) -> rsa.RSAPrivateKey:
    """A key, made once in a run; the number tells keys apart."""
    return rsa.generate_private_key(65_537, bits)


@functools.cache
def ec_key(number: int = 0) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def jwk(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, kid: str, **more: str) -> Json:
    """The public half as it is published."""
    if isinstance(key, rsa.RSAPrivateKey):
        metrics = key.public_key().public_numbers()
        return {"kty": "RSA", "kid": kid, "n": _number(metrics.n), "e": _number(metrics.e), **more}
    point = key.public_key().public_numbers()
    return {"kty": "EC", "kid": kid, "crv": "P-256", "x": _number(point.x), "y": _number(point.y), **more}


def _number(value: int) -> str:
    raw = value.to_bytes((value.bit_length() + 7) // 8)
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def token(issuer: str, *, key: Any = None, kid: str = "k1", algorithm: str = "RS256", **claims: Any) -> str:
    """A token as the API server makes it; claims are laid over."""
    now = int(time.time())
    message = {
        "iss": issuer,
        "sub": SUBJECT,
        "aud": ["sts.amazonaws.com"],
        "iat": now,
        "nbf": now,
        "exp": now + 3600,
        **claims,
    }
    message = {name: value for name, value in message.items() if value is not None}
    return jwt.encode(message, key or rsa_key(), algorithm, {"kid": kid} if kid else None)


class Page(NamedTuple):
    """What one path answers."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {}

    @classmethod
    def of(cls, value: Any) -> Page:
        return cls(json.dumps(value).encode())


class Issuer:
    """``with Issuer(authority) as issuer:`` serves https://127.0.0.1:PORT with one key ``k1``."""

    def __init__(self, authority: Authority, *, ahead: float = 0.0) -> None:
        self.authority = authority
        self.pages: dict[str, Page] = {}
        self.asked: list[str] = []
        served = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                served.asked.append(self.path)
                page = served.pages.get(self.path, Page(b"not here", 404))
                self.send_response(page.status)
                for name, value in page.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(page.body)))
                self.end_headers()
                self.wfile.write(page.body)

            def date_time_string(self, timestamp: float | None = None) -> str:
                return super().date_time_string((timestamp or time.time()) + ahead)

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False  # server_close then waits for them, and no socket is left
        self._server.socket = serving(authority).wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        self.publish(self.url, [jwk(rsa_key(), "k1")])

    def publish(self, issuer: str, keys: list[Json]) -> None:
        """Serve a discovery document of this issuer, and these keys."""
        self.pages[DISCOVERY] = Page.of({"issuer": issuer, "jwks_uri": self.url + KEYS})
        self.pages[KEYS] = Page.of({"keys": keys})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()


def serving(authority: Authority) -> ssl.SSLContext:
    """For a server with a certificate of the authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = authority.leaf()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pair.pem"
        file.write_bytes(pair.cert + pair.key)
        context.load_cert_chain(file)
    return context


def when(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
