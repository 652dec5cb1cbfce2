"""Passes one request on as it is: no header that was not given, no redirect, no decoding."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Final

import aiohttp
from yarl import URL

from vestibule_simulators.https_server import SiteResponse

_SECONDS: Final = 30.0
_OWN: Final = ("Content-Type", "Accept", "Accept-Encoding", "User-Agent")
"""Headers that the client would make up."""


async def send(
    method: str, url: str, headers: Mapping[str, str], body: bytes, tls: ssl.SSLContext | None
) -> SiteResponse:
    """The answer. Raises OSError when there is none."""
    given = {name: value for name, value in headers.items() if name != "content-length"}
    try:
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=tls if tls is not None else True),
                skip_auto_headers=_OWN,
                auto_decompress=False,
                timeout=aiohttp.ClientTimeout(_SECONDS),
            ) as session,
            session.request(
                method,
                URL(url, encoded=True),
                headers=given,
                data=body if method in ("PUT", "POST") else None,
                allow_redirects=False,
            ) as response,
        ):
            content = await response.read()
            return SiteResponse(response.status, content, dict(response.headers))
    except (aiohttp.ClientError, TimeoutError) as error:
        raise OSError(str(error) or type(error).__name__) from error
