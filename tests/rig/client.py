"""A small synchronous client for tests: one user, kept connections, no cleverness.

It shares nothing with the product's client, so that a fault of that one cannot hide itself. An answer is a
status, headers and a body, whatever the status; ``.object`` is for tests that expect success.
"""

from __future__ import annotations

import collections
import http.client
import json
import re
import select
import ssl
import time
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.rig import process

Object = dict[str, Any]
Objects = list[Object]
Value = str | int | bool
APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
_WARNING = re.compile(r'^299 \S+ "(.*)"$')


class Refused(Exception):
    """The server's answer was not the success that the test expected."""

    def __init__(self, answer: Answer, what: str) -> None:
        self.status = answer.status
        super().__init__(f"{what}: {answer.status} {answer.message}")


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes
    what: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def object(self) -> Object:
        """The object of a successful call. Raises Refused for any other."""
        if not 200 <= self.status < 300:
            raise Refused(self, self.what)
        found: Object = json.loads(self.body)
        return found

    @property
    def message(self) -> str:
        """The text of a Status, or the body as it is."""
        try:
            return str(json.loads(self.body)["message"])
        except (ValueError, KeyError, TypeError):
            return self.body.decode(errors="replace")

    @property
    def warnings(self) -> list[str]:
        """The texts of the Warning headers."""
        found = (_WARNING.match(value) for value in self.headers.get_all("Warning", []))
        return [re.sub(r"\\(.)", r"\1", match[1]) for match in found if match]


def at(resource: str, namespace: str | None = None, name: str = "", sub: str = "", api: str = "v1") -> str:
    """The path of a collection, an object or a subresource: ``at("deployments", "a", api="apps/v1")``."""
    root = f"/api/{api}" if "/" not in api else f"/apis/{api}"
    steps = [root, *(["namespaces", namespace] if namespace else []), resource, name, sub]
    return "/".join(step for step in steps if step)


def healthy(url: str, path: str, tls: ssl.SSLContext | None) -> bool:
    """Whether a server answers 200 now; a connection of its own, at most two seconds."""
    probe = Client(url, tls, timeout=2.0)
    try:
        return probe.get(path).status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        probe.close()


class Client:
    """One user at one server; usable from several threads, each call on a connection of its own."""

    def __init__(
        self,
        url: str,
        tls: ssl.SSLContext | None,
        *,
        timeout: float = 30.0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.url, self._timeout, self._tls, self._headers = url, timeout, tls, dict(headers or {})
        self._place = urllib.parse.urlsplit(url)
        self._idle: collections.deque[http.client.HTTPConnection] = collections.deque()

    def raw(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Value] | None = None,
    ) -> Answer:
        """One call, never repeated. Raises OSError, http.client.HTTPException when the wire fails."""
        requested = urllib.parse.urlencode({key: _text(value) for key, value in (query or {}).items()})
        target = f"{path}?{requested}" if requested else path
        sent = {"Accept": "application/json", **self._headers, **(headers or {})}
        to = self._kept() or self._connection()
        try:
            to.request(method, target, body, sent)
            response = to.getresponse()
            data = response.read()
        except BaseException:
            to.close()
            raise
        self._idle.append(to)
        return Answer(response.status, response.headers, data, f"{method} {target}")

    def get(self, path: str, **query: Value) -> Answer:
        return self.raw("GET", path, query=query)

    def list(self, path: str, **query: Value) -> Objects:
        """The items. Raises Refused."""
        items: Objects = self.get(path, **query).object["items"]
        return items

    def create(self, path: str, item: Object, **query: Value) -> Answer:
        return self._send("POST", path, item, "application/json", query)

    def replace(self, path: str, item: Object, **query: Value) -> Answer:
        return self._send("PUT", path, item, "application/json", query)

    def patch(self, path: str, patch: object, kind: str = MERGE, **query: Value) -> Answer:
        """A patch of the media type ``kind``: MERGE, STRATEGIC or JSON_PATCH."""
        return self._send("PATCH", path, patch, kind, query)

    def apply(
        self, path: str, item: Object, manager: str = "rig", *, force: bool = False, **query: Value
    ) -> Answer:
        """Server-side apply."""
        return self._send("PATCH", path, item, APPLY, {"fieldManager": manager, "force": force, **query})

    def delete(self, path: str, **query: Value) -> Answer:
        return self.raw("DELETE", path, query=query)

    def wait(
        self,
        path: str,
        condition: Callable[[Object], object] = bool,
        seconds: float = 30.0,
    ) -> Object:
        """Until the object exists and the condition holds; the object. Raises TimeoutError."""
        deadline, pause = time.monotonic() + seconds, process.pauses()
        while True:
            answer = self.get(path)
            if answer.status == 200 and condition(found := answer.object):
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"waited {seconds:g} s for {path}; last: {answer.status} {answer.body[:500]!r}"
                )
            time.sleep(next(pause))

    def wait_gone(self, path: str, seconds: float = 30.0) -> None:
        """Until the object does not exist. Raises TimeoutError."""
        deadline, pause = time.monotonic() + seconds, process.pauses(0.05)
        while self.get(path).status != 404:
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds:g} s for {path} to go")
            time.sleep(next(pause))

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _kept(self) -> http.client.HTTPConnection | None:
        """A connection of an earlier call that the server has not closed since."""
        while self._idle:
            try:
                to = self._idle.pop()
            except IndexError:
                return None
            # something to read before anything was asked: the server said good-bye
            if to.sock is not None and not select.select([to.sock], [], [], 0)[0]:
                return to
            to.close()
        return None

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._place.hostname or "127.0.0.1", self._place.port
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)

    def _send(self, method: str, path: str, item: object, kind: str, query: Mapping[str, Value]) -> Answer:
        return self.raw(method, path, json.dumps(item), {"Content-Type": kind}, query)


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
