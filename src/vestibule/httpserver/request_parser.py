"""One connection's bytes turned into requests, without I/O: feed bytes, take what is in ``inbox``.

llhttp (through httptools) does the parsing and knows the smuggling tricks; here are the limits around it.
``feed`` never raises: what cannot be a request becomes a rendered refusal in the inbox, behind the requests
before it, and ends the reading. The hard thing: llhttp cannot be paused, so all requests of one read are
queued before one is answered, and httptools keeps an unfinished header in memory unseen, so bytes that yield
nothing are counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NoReturn

import httptools

from vestibule.httpserver import header_cache, request_target, responses
from vestibule.httpserver.limits import ServerLimits
from vestibule.httpserver.messages import HttpRequest

__all__ = ["BODY", "ENDED", "HEAD", "IDLE", "RequestParser"]

IDLE: Final = 0  # between requests
HEAD: Final = 1  # inside a request's head
BODY: Final = 2  # inside a request's body
ENDED: Final = 3  # no further request will be read


class _Stop(Exception):
    """Raised in a parser callback to make the parser stop; never leaves ``feed``."""


class RequestParser:
    """The reading half of a connection."""

    __slots__ = (
        "_body", "_chunked", "_clock", "_connection_named", "_content_type", "_expect", "_fields",
        "_head_size", "_heads", "_hosts", "_length", "_limits", "_memorable", "_parser", "_refusal",
        "_replaying", "_seen", "_unseen", "_url", "count", "forbidden", "inbox", "now", "stage",
    )  # fmt: skip

    def __init__(
        self, limits: ServerLimits, clock: Callable[[], float], known: header_cache.HeaderCache
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._heads = known
        self._parser = httptools.HttpRequestParser(self)
        self._refusal = responses.final(400)
        self._memorable: header_cache.Head | None = None
        self._body: bytes | bytearray = b""
        self.inbox: deque[bytes | tuple[HttpRequest, str]] = deque()
        """What to answer, in order: a request with its ``Connection`` value, or bytes to send as they are."""
        self.stage = IDLE
        self.count = 0
        """Requests begun, those recognised by their head not counted."""
        self.now = clock()
        """When the last request was complete."""
        self.forbidden = False
        """Whether the peer may send no request at all: each is refused at the end of its head."""
        self._reset()

    def feed(self, data: bytes) -> None:
        """Take one read's bytes; afterwards ``inbox`` and ``stage`` say what came of them."""
        if self.stage == IDLE:
            end = data.find(header_cache.END) + len(header_cache.END)
            known = self._heads.get(data[:end])
            if known is not None:
                length, method, path, query, content_type, seconds = known
                if end + length == len(data) and not self.forbidden:
                    self.now = now = self._clock()
                    request = HttpRequest(method, path, query, data[end:], content_type, now + seconds)
                    self.inbox.append((request, responses.KEEP))
                    return
            self._parse(data)
            if self._memorable is not None and end + self._memorable[0] == len(data):
                self._heads.add(data[:end], self._memorable)
        elif self.stage != ENDED:
            self._parse(data)
        self._memorable = None

    def refuse(self, answer: bytes) -> None:
        """End the reading with ``answer`` behind what is queued."""
        self.inbox.append(answer)
        self.end()

    def end(self) -> None:
        """Read no more; the body in progress is dropped."""
        self.stage = ENDED
        self._body = b""

    def discard(self) -> None:
        """End, and break the reference cycle with the parser; nothing may be fed afterwards."""
        self.end()
        self.inbox.clear()
        del self._parser

    @property
    def held(self) -> int:
        """Bytes of the body in progress."""
        return len(self._body)

    # httptools calls these, found by name when the parser is made

    def on_message_begin(self) -> None:
        self.stage = HEAD
        self.count += 1
        self._reset()

    def on_url(self, part: bytes) -> None:
        self._url += part

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        self._head_size += len(name) + len(value)
        notice = _NOTICED.get(name.lower())
        if notice is not None and self.stage == HEAD:  # in a body it is a trailer, and no trailer matters
            notice(self, value)

    def on_headers_complete(self) -> None:
        if self._head_too_large():
            self._stop(431)
        if self._hosts != 1 or self._chunked:
            self._check_framing()
        if self.forbidden:
            self._stop(403)
        if self._length > self._limits.body:
            self._stop(413)
        self.stage = BODY
        if self._chunked or self._length:
            if self._connection_named and self._parser.should_upgrade():
                self._replaying = True
            elif self._expect and self._parser.get_http_version() == "1.1":
                self.inbox.append(responses.CONTINUE)

    def on_body(self, part: bytes) -> None:
        body = self._body
        if not body:
            self._body = part
        elif isinstance(body, bytearray):
            body += part
        else:
            self._body = (
                bytearray(body) + part
            )  # not a list: two-byte chunks would cost thirty times their size
        if self._chunked and len(self._body) > self._limits.body:
            self._stop(413)

    def on_message_complete(self) -> None:
        if self._replaying:
            return
        if len(self.inbox) >= self._limits.pipeline:
            self.end()
            raise _Stop
        connection = responses.KEEP
        keep = self._parser.should_keep_alive()
        plain = keep and not self._connection_named
        if not plain:
            version = self._parser.get_http_version()
            if version not in {"1.0", "1.1"}:
                self._stop(505)
            if keep and version == "1.0":
                connection = responses.KEEP_1_0
        try:
            path, query, seconds = request_target.parse(self._url)
        except request_target.InvalidRequestTarget:
            self._stop(400)
        if seconds is None:
            seconds = self._limits.deadline_seconds
        self.now = now = self._clock()
        method = self._parser.get_method().decode("ascii")
        body = self._body if isinstance(self._body, bytes) else bytes(self._body)
        self.inbox.append(
            (HttpRequest(method, path, query, body, self._content_type, now + seconds), connection)
        )
        if plain and not self._chunked and not self._expect:
            self._memorable = (self._length, method, path, query, self._content_type, seconds)
        self._body = b""
        self.stage = IDLE if keep else ENDED

    # inner works

    def _reset(self) -> None:
        self._url = b""
        self._fields = 0
        self._head_size = 0
        self._hosts = 0
        self._length = 0
        self._chunked = False
        self._expect = False
        self._connection_named = False
        self._replaying = False
        self._content_type = ""
        self._body = b""
        self._seen = 0
        self._unseen = 0

    def _parse(self, data: bytes) -> None:
        queued = len(self.inbox)
        rest = data
        while True:
            try:
                self._parser.feed_data(rest)
            except httptools.HttpParserUpgrade as upgrade:
                rest = self._without_upgrade(rest[upgrade.args[0] :])
            except httptools.HttpParserError:
                # after Connection: close the parser calls every further byte an error; that is not one
                if self.stage != ENDED:
                    self.refuse(self._refusal)
                return
            else:
                break
        if self.stage in {HEAD, BODY}:
            self._count_unseen(len(data), completed=len(self.inbox) != queued)

    def _stop(self, status: int) -> NoReturn:
        self._refusal = responses.final(status)
        raise _Stop

    def _check_framing(self) -> None:
        """What HTTP/1.1 demands and llhttp lets pass: exactly one Host, and no chunks before 1.1."""
        version = self._parser.get_http_version()
        missing = self._hosts == 0 and version == "1.1"
        if missing or self._hosts > 1 or (self._chunked and version == "1.0"):
            self._stop(400)

    def _head_too_large(self) -> bool:
        limits = self._limits
        return self._fields > limits.header_count or self._head_size + len(self._url) > limits.headers

    def _count_unseen(self, size: int, *, completed: bool) -> None:
        """Refuse a head, chunk extension or trailer without end: no callback sees it before it is whole."""
        held = len(self._body)
        if completed or held != self._seen:
            self._seen = held
            self._unseen = 0
        else:
            self._unseen += size
        if self._unseen > self._limits.headers or (self.stage == HEAD and self._head_too_large()):
            self.refuse(responses.final(431))

    def _without_upgrade(self, rest: bytes) -> bytes:
        """What to parse after an upgrade we do not follow.

        llhttp takes the body of such a request for the new protocol, so a request with a body is read again
        by a fresh parser, from a head that does not ask for the upgrade.
        """
        if not self._replaying:
            return rest
        head = [
            b"%b %b HTTP/1.1" % (self._parser.get_method(), self._url),
            b"Host: replayed",
            b"Content-Type: " + self._content_type.encode("latin-1"),
            b"Transfer-Encoding: chunked" if self._chunked else b"Content-Length: %d" % self._length,
        ]
        if self._expect:
            head.append(b"Expect: 100-continue")
        self._parser = httptools.HttpRequestParser(self)
        return b"\r\n".join([*head, b"", rest])

    def _notice_host(self, _value: bytes) -> None:
        self._hosts += 1

    def _notice_content_length(self, value: bytes) -> None:
        self._length = int(value)  # llhttp has let only digits through

    def _notice_content_type(self, value: bytes) -> None:
        self._content_type = value.decode("latin-1")

    def _notice_transfer_encoding(self, value: bytes) -> None:
        if value.lower() != b"chunked":
            self._stop(501)
        self._chunked = True

    def _notice_expect(self, value: bytes) -> None:
        if value.lower() != b"100-continue":
            self._stop(417)
        self._expect = True

    def _notice_connection(self, _value: bytes) -> None:
        self._connection_named = True  # llhttp knows what it means


_NOTICED: Final[dict[bytes, Callable[[RequestParser, bytes], None]]] = {
    b"host": RequestParser._notice_host,
    b"content-length": RequestParser._notice_content_length,
    b"content-type": RequestParser._notice_content_type,
    b"transfer-encoding": RequestParser._notice_transfer_encoding,
    b"expect": RequestParser._notice_expect,
    b"connection": RequestParser._notice_connection,
}
