"""The certificate that a server presents, and whether a client that trusts only the given CAs accepts it.

As the API server does: the CAs of the caBundle and the name of the Service, nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Sequence
from typing import Final, NamedTuple

_SECONDS: Final = 4.0


class PresentedCertificate(NamedTuple):
    """What came of it."""

    leaf: str = ""
    """PEM of the presented certificate; empty: no response."""
    error: str = ""
    """Why it is not trusted, or why there was no response."""


async def inspect_server(
    host: str, port: int, name: str, authorities: Sequence[str], *, seconds: float = _SECONDS
) -> PresentedCertificate:
    """Connect twice: once to read any certificate, and once trusting only the CAs."""
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname = False
    blind.verify_mode = ssl.CERT_NONE
    leaf, error = await _call(host, port, name, blind, seconds)
    if not leaf:
        return PresentedCertificate("", error)
    try:
        trusting = ssl.create_default_context(cadata="\n".join(authorities) or None)
    except ssl.SSLError as failure:
        return PresentedCertificate(leaf, f"the CAs cannot be used: {failure.reason or failure}")
    # an authority without its own above it counts, as it does in Go
    trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    trusting.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    return PresentedCertificate(leaf, (await _call(host, port, name, trusting, seconds))[1])


async def _call(host: str, port: int, name: str, tls: ssl.SSLContext, seconds: float) -> tuple[str, str]:
    """The certificate and no error, or an error."""
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port, ssl=tls, server_hostname=name)
    except ssl.SSLCertVerificationError as error:
        return "", error.verify_message or str(error)
    except TimeoutError:
        return "", f"no response in {seconds:g} s"
    except (OSError, ValueError) as error:
        return "", (getattr(error, "strerror", None) or str(error) or type(error).__name__).splitlines()[0]
    try:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return ssl.DER_cert_to_PEM_cert(shown) if shown else "", ""
    finally:
        writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1):
                await writer.wait_closed()
