"""A bucket of Google Cloud Storage over HTTP: metadata, media, multipart upload, delete, generations.

No emulator can be installed everywhere, and these five calls are all that we make. Faults on demand:
``faults`` answers the next calls with these statuses.
"""

from __future__ import annotations

import email
import http.server
import itertools
import json
import threading
from collections import deque
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, unquote, urlsplit


class Kept(NamedTuple):
    body: bytes
    generation: int
    about: dict[str, Any]


class GcsDouble:
    """``with GcsDouble("bucket") as double: double.client()``."""

    def __init__(self, *buckets: str) -> None:
        self.buckets: dict[str, dict[str, Kept]] = {name: {} for name in buckets}
        self.faults: deque[int] = deque()
        self._generations = itertools.count(1_000)
        self._lock = threading.Lock()
        double = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                double.answer(self, "GET")

            def do_POST(self) -> None:
                double.answer(self, "POST")

            def do_DELETE(self) -> None:
                double.answer(self, "DELETE")

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def client(self) -> Any:
        """The SDK's client for this double."""
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import storage

        return storage.Client(
            project=None,
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
            client_options={"api_endpoint": self.url},
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()

    def answer(self, call: http.server.BaseHTTPRequestHandler, verb: str) -> None:
        body = call.rfile.read(int(call.headers.get("Content-Length") or 0))
        parts = urlsplit(call.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        with self._lock:
            if self.faults:
                status, message = self.faults.popleft(), _error("injected")
            else:
                status, message = self._handle(
                    verb, parts.path, query, call.headers.get("Content-Type", ""), body
                )
        call.send_response(status)
        call.send_header("Content-Type", "application/json")
        call.send_header("Content-Length", str(len(message)))
        call.end_headers()
        call.wfile.write(message)

    def _handle(
        self, verb: str, path: str, query: dict[str, str], kind: str, body: bytes
    ) -> tuple[int, bytes]:
        bucket, _, name = path.partition("/b/")[2].partition("/o")
        name = unquote(name.removeprefix("/"))
        if bucket not in self.buckets:
            return 404, _error("The specified bucket does not exist.")
        objects = self.buckets[bucket]
        if verb == "GET" and "/o" not in path.partition("/b/")[2]:
            return 200, json.dumps({"kind": "storage#bucket", "name": bucket}).encode()
        if verb == "POST":
            about, body = _multipart(kind, body)
            name = str(query.get("name") or about["name"])
        found = objects.get(name)
        expected = query.get("ifGenerationMatch")
        if expected is not None and int(expected) != (found.generation if found else 0):
            return (404 if verb != "POST" and not found else 412), _error("precondition")
        if verb == "POST":
            objects[name] = found = Kept(body, next(self._generations), about)
            return 200, _metadata(bucket, name, found)
        if found is None:
            return 404, _error("No such object")
        if verb == "DELETE":
            del objects[name]
            return 204, b""
        return (200, found.body) if query.get("alt") == "media" else (200, _metadata(bucket, name, found))


def _multipart(kind: str, body: bytes) -> tuple[dict[str, Any], bytes]:
    message: Any = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    first, second = message.get_payload()
    about: dict[str, Any] = json.loads(first.get_payload())
    return {**about, "contentType": second.get_content_type()}, second.get_payload(decode=True)


def _metadata(bucket: str, name: str, found: Kept) -> bytes:
    reported = {
        **found.about,
        "kind": "storage#object",
        "bucket": bucket,
        "name": name,
        "generation": str(found.generation),
        "size": str(len(found.body)),
    }
    return json.dumps(reported).encode()


def _error(text: str) -> bytes:
    return json.dumps({"error": {"message": text}}).encode()
