"""One POST over TLS to an address, trusting only the given CAs and name, as an API server does.

Failures of the server are returned, not raised, because callers report them.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from typing import Final, NamedTuple

import aiohttp

from vestibule.httpclient.address_guard import AddressGuard

_SECONDS: Final = 4.0
_LARGEST: Final = 1024 * 1024


class PostResult(NamedTuple):
    """What came of it."""

    status: int = 0
    body: bytes = b""
    error: str = ""
    """Why there is no answer; empty when there is one."""


async def post(
    host: str,
    port: int,
    name: str,
    authorities: Sequence[str],
    path: str,
    body: bytes,
    *,
    seconds: float = _SECONDS,
    guard: AddressGuard | None = None,
) -> PostResult:
    """The answer, or why there is none. ``guard`` judges what is dialled, for addresses that a tenant
    wrote."""
    try:
        tls = ssl.create_default_context(cadata="\n".join(authorities) or None)
    except ssl.SSLError as failure:
        return PostResult(error=f"the CAs cannot be used: {failure.reason or failure}")
    # an authority without its own above it counts, as it does in Go
    tls.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    tls.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    shown = f"[{host}]" if ":" in host else host
    try:
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    ssl=tls, force_close=True, socket_factory=guard.socket if guard is not None else None
                ),
                auto_decompress=False,
                trust_env=False,
            ) as session,
            session.post(
                f"https://{shown}:{port}{path}",
                data=body,
                headers={"Content-Type": "application/json"},
                server_hostname=name,
                allow_redirects=False,
            ) as response,
        ):
            return PostResult(response.status, await response.content.read(_LARGEST))
    except TimeoutError:
        return PostResult(error=f"no response in {seconds:g} s")
    except aiohttp.ClientConnectorCertificateError as error:
        certificate = error.certificate_error
        return PostResult(error=f"not trusted: {getattr(certificate, 'verify_message', '') or certificate}")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return PostResult(error=(str(error) or type(error).__name__).splitlines()[0][:300])
