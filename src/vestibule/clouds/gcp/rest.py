"""REST over google-auth's session: repeated as the server asks, long operations waited for, policies changed
under their etag.

A call that is repeated may have been done the first time. Its fault says so (``repeated``), and who creates
or deletes takes "exists already" and "is not there" for an answer then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

from vestibule import errors

T = TypeVar("T")
_SECONDS: Final = 30.0
_TRIES: Final = 6
_LONGEST: Final = 120.0
_RETRIED: Final = frozenset({429, 500, 502, 503, 504})
_POLLS: Final = 70
_POLL: Final = 0.1
_SLOWEST_POLL: Final = 2.0
"""Seconds between two polls of an operation; 70 polls take a little over two minutes."""
POLICY_TRIES: Final = 24
"""Attempts to change a policy while others do, or while a new account is not known everywhere."""
_POLICY_PAUSE: Final = 10.0
CONNECTIONS: Final = 32


class GcpCallError(errors.VestibuleError):
    """Google refuses; ``code`` is its status in words, ``status`` that of HTTP."""

    def __init__(self, what: str, code: str, status: int, text: str, *, repeated: bool = False) -> None:
        self.code, self.status, self.repeated = code, status, repeated
        line = text.splitlines()[0][:300] if text else ""
        super().__init__(f"{what}: {code or status}: {line}".rstrip(": "))


class RestClient:
    """REST calls with the given credentials."""

    def __init__(self, credentials: Any, *, pause: Callable[[float], None] = time.sleep) -> None:
        from google.auth.transport.requests import AuthorizedSession
        from requests.adapters import HTTPAdapter

        self.pause = pause
        self._session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=CONNECTIONS))

    def call(
        self,
        method: str,
        url: str,
        what: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The answer. Raises GcpCallError, Forbidden for a login that fails, Unavailable."""
        address = f"{url}?{urlencode(query)}" if query else url
        for attempt in range(_TRIES):
            last = attempt == _TRIES - 1
            answer = self._answered(method, address, what, body, last=last)
            if answer is not None and (answer.status_code not in _RETRIED or last):
                return _read(answer, what, repeated=attempt > 0)
            after = answer.headers.get("Retry-After", "") if answer is not None else ""
            self.pause(min(float(after), _LONGEST) if after.isdigit() else 0.5 * 2**attempt)
        raise AssertionError("the last try returns or raises")

    def _answered(
        self, method: str, url: str, what: str, body: Mapping[str, Any] | None, *, last: bool
    ) -> Any:
        """What came back; None when nothing did, and it is worth another try."""
        from google.auth.exceptions import GoogleAuthError, TransportError
        from requests import RequestException

        try:
            return self._session.request(method, url, json=body, timeout=_SECONDS)  # type: ignore[no-untyped-call]
        except (TransportError, RequestException) as error:
            if last:
                text = "the same command goes on from there"
                raise errors.Unavailable(f"{what}: no response ({type(error).__name__}); {text}") from error
            return None
        except GoogleAuthError as error:
            raise errors.Forbidden(f"{what}: the login failed: {str(error)[:300]}") from error

    def maybe(
        self, method: str, url: str, what: str, query: Mapping[str, str] | None = None
    ) -> dict[str, Any] | None:
        """The answer; None for what does not exist."""
        try:
            return self.call(method, url, what, query=query)
        except GcpCallError as fault:
            if fault.status == 404:
                return None
            raise

    def pages(
        self, url: str, field: str, what: str, query: Mapping[str, str] | None = None
    ) -> list[Mapping[str, Any]]:
        """All of a list."""
        found: list[Mapping[str, Any]] = []
        token = ""
        while True:
            page = self.call(
                "GET", url, what, query={**(query or {}), **({"pageToken": token} if token else {})}
            )
            found += page.get(field, ())
            token = page.get("nextPageToken", "")
            if not token:
                return found

    def wait(self, operation: Mapping[str, Any], base: str, what: str) -> None:
        """Until a long operation is done; one that is not done yet does not say so. Raises Unavailable."""
        delay = _POLL
        for _ in range(_POLLS):
            if "error" in operation:
                failure = operation["error"]
                raise GcpCallError(what, str(failure.get("code", "")), 0, str(failure.get("message", "")))
            if operation.get("done") or "/operations/" not in str(operation.get("name", "")):
                return
            self.pause(delay)
            delay = min(2 * delay, _SLOWEST_POLL)
            operation = self.call("GET", f"{base}/{operation['name']}", what)
        raise errors.Unavailable(f"{what}: not done after two minutes; the same command goes on from there")

    def seen(self, read: Callable[[], T | None]) -> T | None:
        """Wait for an object that is being created; None if it does not appear."""
        delay = _POLL
        for _ in range(_POLLS):
            found = read()
            if found is not None:
                return found
            self.pause(delay)
            delay = min(2 * delay, _SLOWEST_POLL)
        return None

    def change(
        self,
        read: Callable[[], dict[str, Any]],
        alter: Callable[[dict[str, Any]], bool],
        write: Callable[[dict[str, Any]], object],
    ) -> None:
        """Read, alter, write under the etag that was read. ``alter`` says whether it did."""
        for attempt in range(POLICY_TRIES):
            try:
                found = read()
                if alter(found):
                    write(found)
            except GcpCallError as fault:
                if not _passes(fault) or attempt == POLICY_TRIES - 1:
                    raise
            else:
                return
            self.pause(min(_POLICY_PAUSE, 0.5 * 2**attempt))


def forbidden(fault: GcpCallError) -> bool:
    """Whether a policy of the organisation is against it; storage says so with the status of a lost race."""
    text = str(fault).lower()
    return "public access prevention" in text or "permitted customer" in text


def _passes(fault: GcpCallError) -> bool:
    """Whether there was a concurrent write, or a new object is not yet known everywhere."""
    if forbidden(fault):
        return False
    return fault.status in (404, 409, 412) or (fault.status == 400 and "does not exist" in str(fault))


def _read(answer: Any, what: str, *, repeated: bool) -> dict[str, Any]:
    try:
        found = answer.json() if answer.content else {}
    except ValueError:
        found = None
    if answer.status_code >= 300:
        failure = found.get("error", {}) if isinstance(found, Mapping) else {}
        failure = failure if isinstance(failure, Mapping) else {"message": str(failure)}
        code, text = str(failure.get("status", "")), str(failure.get("message", ""))
        raise GcpCallError(what, code, answer.status_code, text, repeated=repeated)
    if not isinstance(found, dict):
        raise errors.Unavailable(f"{what}: the response is not a JSON object; is there a proxy in between?")
    return found
