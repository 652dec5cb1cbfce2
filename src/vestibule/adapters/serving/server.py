"""The HTTPS server: listeners, accepting, the one timer, and the way out.

A connection's life after its handshake is ``protocol``; certificates are ``certwatch``. We accept sockets ourselves
instead of leaving it to ``create_server``: so the hard limit closes a socket before it costs a handshake, sockets in
their handshake are counted, each connection takes the newest certificate, and a closing listener leaves nobody in its
backlog. The hard thing is ``drain``: a request that meets a closed connection is lost, kube-apiserver retries none.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Sequence
from typing import Final

from vestibule.adapters.serving.limits import Limits
from vestibule.adapters.serving.messages import Handler, HttpRequest, HttpResponse
from vestibule.adapters.serving.protocol import Connection
from vestibule.adapters.serving.service import Service, Stats
from vestibule.adapters.serving.tls import TlsHolder

__all__ = ["Handler", "HttpRequest", "HttpResponse", "Limits", "Server", "Stats"]

logger = logging.getLogger(__name__)

_BACKLOG: Final = 512  # sockets the kernel may hold for us; as many as `Limits.connections`
_ACCEPT_BURST: Final = 64  # sockets taken per wake-up, so that a flood of connects does not starve requests
_ACCEPT_PAUSE: Final = 0.5  # seconds to leave a listener alone when we are out of file descriptors
_TICK: Final = 0.25  # seconds between two looks at deadlines and at the loop's own delay
_ABORT_SECONDS: Final = 1.0  # for aborted transports to report that they are gone


class Server:
    """One handler behind any number of listening addresses."""

    def __init__(self, handler: Handler, *, limits: Limits | None = None, tls: TlsHolder | None, name: str) -> None:
        self._handler = handler
        self._limits = Limits() if limits is None else limits
        self._tls = tls
        self._name = name
        self._listeners: list[socket.socket] = []
        self._handshakes: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._expected = 0.0
        self.lag = 0.0
        """Seconds by which the event loop was late at the last tick."""
