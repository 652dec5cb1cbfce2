"""TLS of one connection, between the socket's transport and its ``Connection``, with little memory.

The loops' own TLS layers hold a read buffer of 256 KiB for each connection, and their memory BIOs keep the
size of the largest answer; a thousand idle clients are a quarter of a gigabyte. Here all connections of a
server read into one buffer, and what is encrypted goes through in pieces of a record, so that an idle
connection is its OpenSSL object and nothing else. Towards ``Connection`` this is a transport. The hard thing
is the end: after our close_notify we read on, and drop what comes, until the peer closes; the times are the
connection's.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Final, cast

from vestibule.httpserver.connection import Connection
from vestibule.httpserver.server_state import ServerState

__all__ = ["TlsChannel"]

_RECORD: Final = 16 * 1024  # bytes of text in one TLS record at most


class TlsChannel(asyncio.BufferedProtocol, asyncio.Transport):
    """The protocol of a socket; once its handshake is done, the transport of a connection."""

    __slots__ = (
        "_closing", "_connection", "_incoming", "_open", "_outgoing", "_service", "_tls", "_transport",
        "shaken",
    )  # fmt: skip

    def __init__(self, service: ServerState, connection: Connection, context: ssl.SSLContext) -> None:
        self._service = service
        self._connection: Connection | None = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._transport: asyncio.Transport | None = None
        self._open = False
        self._closing = False
        self.shaken: asyncio.Future[None] = service.loop.create_future()
        """Done when the handshake is; with an OSError when it failed."""

    # what the socket's transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """The one buffer: it is emptied before anybody else reads."""
        return self._service.incoming

    def buffer_updated(self, nbytes: int) -> None:
        self._incoming.write(self._service.incoming[:nbytes])
        if self._open or self._shake():
            self._read()

    def eof_received(self) -> bool:
        if self._open and not self._closing and self._connection is not None:
            self._connection.eof_received()
        return False  # TLS has no half-closed state

    def pause_writing(self) -> None:
        if self._open and self._connection is not None:
            self._connection.pause_writing()

    def resume_writing(self) -> None:
        if self._open and self._connection is not None:
            self._connection.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        connection, self._connection = self._connection, None
        if not self.shaken.done():
            self.shaken.set_exception(exc or ConnectionResetError("closed in its handshake"))
        if self._open and connection is not None:
            connection.connection_lost(exc)
        self._transport = None

    # what the connection calls

    def write(self, data: Any) -> None:
        if self._transport is None or self._closing:
            return
        if len(data) <= _RECORD:
            self._tls.write(data)
            self._transport.write(self._outgoing.read())
            return
        view = memoryview(data)
        for at in range(0, len(view), _RECORD):
            self._tls.write(view[at : at + _RECORD])
            self._transport.write(self._outgoing.read())

    def close(self) -> None:
        """Say that we are done; the peer closes the socket, or ``Connection`` aborts in time."""
        transport = self._transport
        if self._closing or transport is None:
            return
        self._closing = True
        try:
            self._tls.unwrap()
        except ssl.SSLWantReadError:
            self._flush()
            transport.resume_reading()  # or we would not see the peer close
        except ssl.SSLError:
            transport.close()
        else:
            self._flush()
            transport.close()

    def abort(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def is_closing(self) -> bool:
        return self._closing or self._transport is None or self._transport.is_closing()

    def pause_reading(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if self._transport is not None:
            self._transport.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "peercert":
            return self._tls.getpeercert()
        return self._transport.get_extra_info(name, default) if self._transport is not None else default

    # inner works

    def _shake(self) -> bool:
        """Go on with the handshake; whether it is done."""
        if self._closing:
            return False
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        except ssl.SSLError as error:
            self._flush()  # the alert that says why
            self._closing = True
            if not self.shaken.done():
                self.shaken.set_exception(error)
            if self._transport is not None:
                self._transport.close()
            return False
        self._flush()
        if self.shaken.done() or self._connection is None or self._transport is None:
            return False  # given up meanwhile
        self._open = True
        self.shaken.set_result(None)
        self._connection.connection_made(self)
        return True

    def _read(self) -> None:
        """Give on what has come; one record at a time, so that nothing is left in OpenSSL."""
        read, incoming = self._tls.read, self._incoming
        data: bytes | list[bytes] = b""
        ended = False
        try:
            while incoming.pending:
                piece = read(_RECORD)
                if not piece:
                    ended = True
                    break
                if not data:
                    data = piece
                elif isinstance(data, list):
                    data.append(piece)
                else:
                    data = [data, piece]
        except ssl.SSLWantReadError:
            pass  # the rest of the record is on its way
        except ssl.SSLError:
            ended = True  # also: both sides have sent close_notify
        if data and not self._closing and self._connection is not None:
            self._connection.data_received(data if isinstance(data, bytes) else b"".join(data))
        if self._outgoing.pending:
            self._flush()  # an answer of TLS itself, to a change of keys
        if ended:
            self._end()

    def _end(self) -> None:
        """The peer has sent close_notify or violated the protocol."""
        if not self._closing and self._connection is not None:
            self._connection.eof_received()
            self.close()
        if self._transport is not None:
            self._transport.close()

    def _flush(self) -> None:
        if self._transport is not None:
            self._transport.write(self._outgoing.read())
