"""One document over HTTPS, with a deadline, a limit on its size, and no way down to plain HTTP.

Failures of the server are returned, not raised, because callers report them. Redirects are
followed, to https only, and noted.
"""

from __future__ import annotations

import asyncio
import email.utils
import ssl
import time
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import aiohttp
from yarl import URL

from vestibule import __version__
from vestibule.checks.http_document import HttpDocument

_AGENT: Final = f"vestibule/{__version__}"
LARGEST: Final = 1024 * 1024
"""Bytes; a JWKS of a hundred keys has 80 KB."""
_REDIRECTS: Final = 3
_SECONDS: Final = 10.0
_FAILURES: Final = (aiohttp.ClientError, OSError, ValueError)


async def get(
    url: str,
    tls: ssl.SSLContext | None,
    *,
    headers: Mapping[str, str] | None = None,
    seconds: float = _SECONDS,
    now: Callable[[], float] = time.time,
    plain: bool = False,
    proxies: bool = False,
    follow: bool = True,
    **options: Any,
) -> HttpDocument:
    """The document, or why there is none. ``plain`` allows http for the first address (an API server behind
    a local proxy); ``proxies`` asks the environment for one, and never for credentials; ``follow`` is off
    where a credential is sent, or the server could forward it; ``options`` go to the request (``proxy``,
    ``server_hostname``)."""
    hops: list[str] = []
    here = url
    try:
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=tls if tls is not None else True),
                headers={"User-Agent": _AGENT, "Accept": "*/*", **(headers or {})},
            ) as session,
        ):
            while True:
                if urlsplit(here).scheme != "https" and not (plain and here == url):
                    return HttpDocument(url, error=_not_https(here, url), redirects=tuple(hops))
                if proxies:
                    options["proxy"] = _proxy(here)
                sent_at = now()
                # what is encoded already stays as it is
                request = session.get(URL(here, encoded=True), allow_redirects=False, **options)
                async with request as response:
                    if follow and 300 <= response.status < 400 and "Location" in response.headers:
                        here = urljoin(here, response.headers["Location"])
                        hops.append(here)
                        if len(hops) > _REDIRECTS:
                            return HttpDocument(url, error="sent on and on", redirects=tuple(hops))
                        continue
                    body = await _body(response)
                    middle = sent_at + (now() - sent_at) / 2
                    return HttpDocument(
                        url,
                        response.status,
                        body or b"",
                        response.content_type,
                        _date(response.headers.get("Date")),
                        middle,
                        "" if body is not None else f"is larger than {LARGEST} bytes",
                        tuple(hops),
                        _seconds(response.headers.get("Retry-After", "")),
                    )
    except TimeoutError:
        return HttpDocument(url, error=f"no response in {seconds:g} s", redirects=tuple(hops))
    except _FAILURES as error:
        return HttpDocument(url, error=_describe_error(error), redirects=tuple(hops))


def _seconds(header: str) -> float:
    """A number of seconds; dates are ignored."""
    return float(header) if header.isascii() and header.isdigit() else 0.0


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for this address; None when it names none."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return None if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(parts.scheme)


async def _body(response: aiohttp.ClientResponse) -> bytes | None:
    """The body; None when it is larger than we take."""
    found = bytearray()
    async for chunk in response.content.iter_chunked(64 * 1024):
        found += chunk
        if len(found) > LARGEST:
            return None
    return bytes(found)


def _not_https(here: str, url: str) -> str:
    if here == url:
        return "is no https address"
    return "sends on to an address that is not https"


def _date(header: str | None) -> float | None:
    if not header:
        return None
    try:
        return email.utils.parsedate_to_datetime(header).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def _describe_error(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        certificate = error.certificate_error
        return f"certificate not trusted: {getattr(certificate, 'verify_message', '') or certificate}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known to DNS"
    text = str(error) or type(error).__name__
    return text.splitlines()[0][:300]
