"""Google Cloud over real HTTP: IAM, the project, storage, and the endpoint where a key file logs in.

Every call but the login needs the token that the login gave. Faults on demand, by the number of a call
(logins are not counted): refused; done, and the line cut; done, and refused from then on, as if the run had
died; throttled.
"""

from __future__ import annotations

import base64
import copy
import http.server
import json
import threading
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import parse_qs, unquote, urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from tests.gcp.answers import Json, Refused
from tests.gcp.iam import Iam
from tests.gcp.storage import Storage
from vestibule.clouds.gcp.endpoints import GcpEndpoints
from vestibule.pki import signer

PROJECT, NUMBER = "my-project-1", "123456789012"
TOKEN = "ya29.double"
LOGIN = signer.new(1024)
"""Short, because google-auth looks into the factors of a key it loads: half of all time, with 2048 bits."""
Kind = Literal["refused", "done, and the line cut", "done, and the run dies", "throttled"]
INJECTED = Refused(403, "PERMISSION_DENIED", "Injected")
THROTTLED = Refused(429, "RESOURCE_EXHAUSTED", "Injected: slow down", after=1)


class Cut(Exception):
    """No answer: the connection is closed."""


class Double:
    """``with Double() as double: double.endpoints``."""

    def __init__(self) -> None:
        self.iam, self.storage = Iam(PROJECT, NUMBER), Storage(NUMBER)
        self.calls: list[tuple[str, str]] = []
        self.logins = 0
        self._fault: tuple[int, Kind] | None = None
        self._dead = False
        self._lock = threading.Lock()
        double = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one packet: else each call waits 40 ms for an acknowledgement

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except (Cut, ConnectionError):
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Nothing."""

        for verb in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            setattr(Handler, f"do_{verb}", lambda call, verb=verb: double.answer(call, verb))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.endpoints = GcpEndpoints(self.url, self.url, self.url)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()

    # ── what tests do ───────────────────────────────────────────────────────────────────────────────────────

    def key_file(self, path: Path) -> Path:
        """The key of a service account that logs in here."""
        address = f"runner@{PROJECT}.iam.gserviceaccount.com"
        about = {"type": "service_account", "project_id": PROJECT, "private_key_id": "k1"}
        more = {"client_email": address, "client_id": "1", "token_uri": f"{self.url}/token"}
        path.write_text(json.dumps({**about, **more, "private_key": LOGIN.private}))
        return path

    def endpoints_file(self, path: Path) -> Path:
        """For ``--endpoints``."""
        path.write_text(json.dumps(self.endpoints._asdict()))
        return path

    def fault(self, number: int, kind: Kind) -> None:
        """What happens to a call of this number, counted from now."""
        self._fault, self.calls = (number, kind), []

    def heal(self) -> None:
        """No faults any more."""
        self._fault, self._dead = None, False

    def writes(self) -> list[tuple[str, str]]:
        """Calls that may change something."""
        return [one for one in self.calls if one[0] != "GET" and not one[1].endswith(":getIamPolicy")]

    def left(self) -> Json:
        """Everything that is there, without what counts up."""
        iam, storage = self.iam, self.storage
        found = {
            "pools": iam.pools,
            "providers": iam.providers,
            "accounts": iam.accounts,
            "roles": {name: {k: v for k, v in one.items() if k != "etag"} for name, one in iam.roles.items()},
            "policy": _sorted(iam.policy.bindings),
            "trusts": {name: _sorted(one.bindings) for name, one in iam.policies.items()},
            "buckets": storage.buckets,
            "access": {name: _sorted(one.bindings) for name, one in storage.policies.items()},
            "objects": {
                name: {key: one.body for key, one in stored.items()}
                for name, stored in storage.objects.items()
            },
        }
        return copy.deepcopy(found)

    # ── answers ─────────────────────────────────────────────────────────────────────────────────────────────

    def answer(self, call: http.server.BaseHTTPRequestHandler, verb: str) -> None:
        body = call.rfile.read(int(call.headers.get("Content-Length") or 0))
        status, after, message = 200, 0, b""
        with self._lock:
            try:
                found = self._answered(verb, call, body)
                message = found if isinstance(found, bytes) else json.dumps(found).encode()
            except Refused as refused:
                status, after, message = refused.status, refused.after, json.dumps(refused.body).encode()
        call.send_response(status)
        call.send_header("Content-Type", "application/json")
        call.send_header("Content-Length", str(len(message)))
        if after:
            call.send_header("Retry-After", str(after))
        call.end_headers()
        call.wfile.write(message)

    def _answered(self, verb: str, call: http.server.BaseHTTPRequestHandler, body: bytes) -> Json | bytes:
        parts = urlsplit(call.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/token":
            return self._login(body)
        if call.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refused(401, "UNAUTHENTICATED", "no token, or another")
        number, kind = self._fault or (-1, None)
        hit = kind if number == len(self.calls) else None
        self.calls.append((verb, unquote(parts.path)))
        if hit == "refused" or self._dead:
            raise INJECTED
        if hit == "throttled":
            raise THROTTLED
        try:
            found = self._handled(verb, parts.path, query, call.headers.get("Content-Type", ""), body)
        finally:
            if hit == "done, and the line cut":
                raise Cut
            if hit == "done, and the run dies":
                self._dead = True
                raise INJECTED
        return found

    def _handled(self, verb: str, path: str, query: dict[str, str], kind: str, body: bytes) -> Json | bytes:
        stored = self.storage.answer(verb, path, query, kind, body)
        if stored is not None:
            return stored
        found = self.iam.answer(verb, unquote(path), query, json.loads(body) if body else {})
        if found is None:
            raise Refused(404, "NOT_FOUND", f"no such method: {verb} {path}")
        return found

    def _login(self, body: bytes) -> Json:
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        signed, _, signature = form["assertion"].rpartition(".")
        key = serialization.load_pem_public_key(LOGIN.public.encode())
        assert isinstance(key, RSAPublicKey)
        padded = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
        key.verify(padded, signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        self.logins += 1
        return {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}


def _sorted(bindings: list[Json]) -> list[Any]:
    return sorted((one["role"], sorted(one["members"]), one.get("condition")) for one in bindings)
