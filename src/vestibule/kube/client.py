"""One asynchronous client for one API server: sends calls, streams watches, turns statuses into our errors.

Reads are tried again after an accident on the wire, a 429 or a 5xx, as long as the caller's deadline allows
and as the server's ``Retry-After`` says. Writes are tried again only when the server says that it did
nothing (429, or 503 with ``Retry-After``). A token that is rejected is fetched anew, once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec

from vestibule import __version__, errors, jitter
from vestibule.httpclient import address_guard
from vestibule.kube.access import ClusterAccess
from vestibule.kube.api_requests import ApiRequest

_AGENT: Final = f"vestibule/{__version__}"
_ATTEMPTS: Final = 4
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_LATE: Final = 4.0
"""Seconds after its end that a stream may still be silent; then it hangs."""
_GUARDED_BODY: Final = 8 * 1024 * 1024
"""Bytes of one answer of a cluster that a tenant names; 500 of our objects have less than one MiB."""
_LINE: Final = 16 * 1024 * 1024
"""Bytes of one watch event; an object is at most 3 MiB, and JSON may escape it to several times that."""


class ApiResponse(NamedTuple):
    """A status and the body that came with it."""

    status: int
    body: bytes
    retry_after: float | None = None


class _ApiStatus(msgspec.Struct):
    message: str = ""
    reason: str = ""


class Client:
    """Speaks to one API server; to be closed."""

    def __init__(
        self, access: ClusterAccess, *, timeout: float = 10.0, connections: int = 32, idle: float = 15.0
    ) -> None:
        """``connections`` are for calls, and stay open for ``idle`` seconds after one; streams have others,
        as many as there are, or a process with many watches would have none left to call with."""
        self._access = access
        self._timeout = timeout
        self._connections = connections
        self._idle = idle
        self._session: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None

    @property
    def access(self) -> ClusterAccess:
        """How the API server is reached: for documents that are no objects."""
        return self._access

    @property
    def namespace(self) -> str:
        """The namespace we are at home in."""
        return self._access.namespace

    def _open(self, *, stream: bool) -> aiohttp.ClientSession:
        if stream:
            self._streams = self._streams or self._made(0)
            return self._streams
        self._session = self._session or self._made(self._connections)
        return self._session

    def _made(self, limit: int) -> aiohttp.ClientSession:
        guarded = self._access.guard is not None
        headers = {"User-Agent": _AGENT, "Accept": "application/json"}
        if guarded:
            headers["Accept-Encoding"] = "identity"  # a small answer must not become a large one
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=limit,
                ssl=self._access.tls or False,
                keepalive_timeout=self._idle,
                socket_factory=self._access.guard.socket if self._access.guard is not None else None,
            ),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=5),
            auto_decompress=not guarded,
            read_bufsize=256 * 1024,
            trust_env=False,
        )

    async def close(self) -> None:
        """Close every connection."""
        sessions, self._session, self._streams = (self._session, self._streams), None, None
        for one in sessions:
            if one is not None:
                await one.close()

    async def send(self, call: ApiRequest) -> ApiResponse:
        """The answer, whatever its status, after such retries as are safe.

        Raises Unavailable when there was none in time.
        """
        deadline = asyncio.get_running_loop().time() + self._timeout
        pause = _FIRST_PAUSE
        attempt = 1
        fresh_token = False
        while True:
            failure = ""
            answer: ApiResponse | None = None
            try:
                async with asyncio.timeout_at(deadline):
                    answer = await self._once(call)
            except TimeoutError:
                raise errors.Unavailable(
                    f"no answer from {self._access.server} in {self._timeout:g} s"
                ) from None
            except (aiohttp.ClientError, OSError) as error:
                failure = self._failure(error)
            if answer is not None:
                if answer.status == 401 and not fresh_token:
                    fresh_token = True
                    self._access.credential.rejected()
                    continue
                if not _is_retried(call, answer):
                    return answer
                failure = f"status {answer.status}"
            elif not call.reads:
                raise errors.Unavailable(f"{self._access.server}: {failure}")
            told = None if answer is None else answer.retry_after
            # not before the server wants it, and not with everybody else
            wait = pause * jitter.between(0.8, 1.2) if told is None else told * jitter.between(1.0, 1.2)
            out_of_time = asyncio.get_running_loop().time() + wait >= deadline
            if attempt >= _ATTEMPTS or out_of_time:
                if answer is not None:
                    return answer
                raise errors.Unavailable(f"{self._access.server}: {failure}")
            await asyncio.sleep(wait)
            pause = min(pause * 2, _LONGEST_PAUSE)
            attempt += 1

    async def _once(self, call: ApiRequest) -> ApiResponse:
        async with self._request(call) as response:
            body = await self._body(response)
            return ApiResponse(response.status, body, _seconds(response.headers.get("Retry-After")))

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        """The body; of a guarded cluster no more than we take. Raises Unavailable."""
        if self._access.guard is None:
            return await response.read()
        found = bytearray()
        async for chunk in response.content.iter_any():
            found += chunk
            if len(found) > _GUARDED_BODY:
                raise errors.Unavailable(f"{self._access.server}: an answer is larger than we take")
        return bytes(found)

    def _failure(self, error: BaseException) -> str:
        """What went wrong on the wire; raises InvalidInput when the address is none that we call."""
        said = _describe_error(error)
        if self._access.guard is not None and address_guard.REFUSED in said:
            raise errors.InvalidInput(
                errors.InputProblem("kubeconfig", "clusters.cluster.server", f"{self._access.server}: {said}")
            ) from None
        return said

    @contextlib.asynccontextmanager
    async def _request(
        self, call: ApiRequest, *, stream: bool = False
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        access = self._access
        headers = {}
        authorization = await access.credential.authorization()
        if authorization:
            headers["Authorization"] = authorization
        if call.content_type:
            headers["Content-Type"] = call.content_type
        if call.accept:
            headers["Accept"] = call.accept
        more: dict[str, Any] = {}
        if access.server_name:
            more["server_hostname"] = access.server_name
        if access.proxy:
            more["proxy"] = access.proxy
        from yarl import URL  # noqa: PLC0415 - comes with aiohttp; paths are encoded already

        async with self._open(stream=stream).request(
            call.method,
            URL(access.server + call.path, encoded=True),
            data=call.body or None,
            headers=headers,
            allow_redirects=False,
            **more,
        ) as response:
            yield response

    async def lines(self, call: ApiRequest, seconds: float) -> AsyncIterator[bytes]:
        """An empty line when the stream is open, then its lines, until it ends; it was asked to do so after
        these seconds.

        Raises Unavailable when it is not opened in time, when it breaks, and when it is silent beyond its
        end; Gone for 410, Forbidden for 401 and 403.
        """
        now = asyncio.get_running_loop().time
        heard: float | None = None
        late = min(_LATE, self._timeout)
        try:
            async with contextlib.AsyncExitStack() as held:
                async with asyncio.timeout(self._timeout):
                    response = await held.enter_async_context(self._request(call, stream=True))
                    if response.status != 200:
                        raise_for(ApiResponse(response.status, await self._body(response)), "watch")
                heard = now()
                end = heard + seconds
                yield b""
                buffer = bytearray()
                while True:
                    async with asyncio.timeout_at(max(end, now()) + late):
                        chunk = await response.content.readany()
                    heard = now()
                    if not chunk:
                        return
                    buffer += chunk
                    if len(buffer) > _LINE:
                        raise errors.Unavailable("a watch event is larger than we take")
                    *whole, rest = bytes(buffer).split(b"\n")
                    for line in whole:
                        if line:
                            yield line
                    buffer = bytearray(rest)
        except TimeoutError:
            if heard is None:
                raise errors.Unavailable(f"the watch was not opened in {self._timeout:g} s") from None
            raise errors.Unavailable(f"the watch was silent for {now() - heard:.0f} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise errors.Unavailable(f"the watch broke: {_describe_error(error)}") from error


def raise_for(answer: ApiResponse, what: str) -> None:
    """Raise what an unwanted status means: Gone, Forbidden, Conflict or Unavailable; the server's words
    are kept."""
    said = message(answer.body)
    if answer.status == 410:
        raise errors.Gone(f"{what}: {said}")
    if answer.status in (401, 403):
        raise errors.Forbidden(f"{what}: {said or answer.status}")
    if answer.status == 409:
        raise errors.Conflict(f"{what}: {said}")
    raise errors.Unavailable(f"{what}: status {answer.status} {said}".rstrip())


def message(body: bytes) -> str:
    """The message of a Status object; empty when there is none."""
    try:
        return msgspec.json.decode(body, type=_ApiStatus).message[:300]
    except msgspec.MsgspecError:
        return ""


def _is_retried(call: ApiRequest, answer: ApiResponse) -> bool:
    if call.once and answer.status == 429:
        return False
    if answer.status == 429 or (answer.status == 503 and answer.retry_after is not None):
        return True
    return call.reads and answer.status >= 500


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isascii() and header.isdigit() else None


def _describe_error(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        # its own text shows an object's place in memory, and would be another one every time
        wrong = error.os_error.strerror or error.os_error
        return f"cannot connect to {error.host}:{error.port}: {wrong}"
    return str(error) or type(error).__name__
