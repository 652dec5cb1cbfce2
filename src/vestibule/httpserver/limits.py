"""How much of everything one server takes before it refuses, each with its unit, default and reason.

Numbers only; they are enforced by ``request_parser`` (sizes), ``connection`` (times, running handlers) and
``server`` (sockets).
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["GRAIN", "ServerLimits"]

GRAIN: Final = 0.001
"""Seconds: the loop's clock counts whole milliseconds, cut off; without one more what may still finish would
be ended too early."""
_KIB = 1024
_MIB = 1024 * _KIB


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one server; the defaults fit an admission webhook behind kube-apiserver."""

    body: int = 7 * _MIB
    """Bytes of one request body; 413 above. 7 MiB: two objects of 3 MiB (old and new) and 1 MiB of
    envelope."""

    headers: int = 32 * _KIB
    """Bytes of one request head; 431 above. 32 KiB: kube-apiserver sends 200 bytes, proxies add a few
    kilobytes."""

    header_count: int = 100
    """Header fields of one request; 431 above. 100: kube-apiserver sends six."""

    buffered: int = 24 * _MIB
    """Bytes held for all connections together: half-read bodies, answers that are not taken, large read
    buffers. Above it the connections that have made us wait longest are closed, never one with a complete
    request. 24 MiB: three bodies of the longest kind, and little enough for a small container."""

    pipeline: int = 32
    """Requests waiting on one connection; those above are dropped and the connection closed after the
    waiting ones. 32: no client of ours pipelines, the bound only caps what one read can queue."""

    header_seconds: float = 5.0
    """From the first byte of a request to the end of its head. 5 s: a head is one packet."""

    body_seconds: float = 10.0
    """From the end of the head to the end of the body. 10 s: `body` at 6 Mbit/s."""

    handshake_seconds: float = 10.0
    """From accept to the end of the TLS handshake. 10 s: the patience of kube-apiserver itself."""

    idle_seconds: float = 120.0
    """Between two requests. 120 s: kube-apiserver drops idle connections at 90 s and must always be the
    first to, because a request that meets our close is lost, not retried."""

    write_seconds: float = 10.0
    """For a slow reader to take what is buffered, and for a TLS peer to confirm a close. 10 s: as for
    bodies."""

    handshakes: int = 64
    """TLS handshakes at the same time; three quarters of them for one peer. 64: at a millisecond each they
    delay a request by less than 0.1 s."""

    handshake_rate: int = 1000
    """TLS handshakes begun per second; peers take turns. 1000: a quarter of a core with an ECDSA key."""

    waiting: int = 1024
    """Accepted sockets that wait for their first byte or for a handshake; above it the peer with the most
    loses its oldest ones. 1024: each is a file descriptor and a kilobyte."""

    connections: int = 512
    """Open connections; above it the ones that have been idle or slow for longest are closed, never one with
    a complete request, so that a new caller is always served. 512: 25 idle ones from each of several API
    servers, and bursts of new ones."""

    inflight: int = 256
    """Asynchronous handlers running at once; 429 above. 256: each is a live read from the API server."""

    inflight_bytes: int = 24 * _MIB
    """Bytes of the requests whose asynchronous handlers run; 429 above. 24 MiB: 256 reviews of 96 KiB."""

    deadline_seconds: float = 5.0
    """Time to answer when the request names no usable `?timeout=`. 5 s: half of the API server's default
    of 10 s."""

    lag_shed_seconds: float = 1.0
    """Delay of the event loop above which requests get 429 until it is back. 1 s: an answer later than that
    has used up the deadline of a caller with a timeout of two seconds."""
