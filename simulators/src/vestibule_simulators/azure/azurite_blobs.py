"""Blobs in a real Azurite: every container of every account is one of its well-known account's, and requests
that we let in are signed anew with that account's key."""

from __future__ import annotations

import email.utils
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

from vestibule_simulators.azure import sharedkey
from vestibule_simulators.azure.blobs import BlobAddress
from vestibule_simulators.azure.responses import ArmError
from vestibule_simulators.https_server import SiteRequest, SiteResponse

ACCOUNT: Final = "devstoreaccount1"
KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Printed in Azurite's own documentation; it opens nothing else."""
Send = Callable[[str, str, Mapping[str, str], bytes], Awaitable[SiteResponse]]
"""Method, address, headers, body; raises OSError when nobody answers."""
_PASSED: Final = (
    "content-type",
    "if-match",
    "if-none-match",
    "range",
    "x-ms-range",
    "x-ms-tags",
    "x-ms-blob-type",
    "x-ms-blob-content-type",
    "x-ms-blob-cache-control",
    "x-ms-version",
)
_BACK: Final = (
    "content-type",
    "cache-control",
    "content-range",
    "etag",
    "last-modified",
    "x-ms-error-code",
    "x-ms-blob-type",
    "x-ms-tag-count",
    "x-ms-version",
    "x-ms-request-server-encrypted",
)


class AzuriteBlobStore:
    """The store behind ``--azurite URL``; the URL may name the account at its end, or leave it out."""

    def __init__(self, url: str, send: Send) -> None:
        parts = urlsplit(url)
        self._root, self._send = f"{parts.scheme}://{parts.netloc}", send
        self._made: set[str] = set()

    async def answer(self, place: BlobAddress, birth: str, call: SiteRequest) -> SiteResponse:
        """One call."""
        blob = place.blob
        name = hashlib.sha256(f"{place.account}/{place.container}/{birth}".encode()).hexdigest()[:40]
        if name not in self._made:
            created = await self._ask("PUT", f"/{ACCOUNT}/{name}", {"restype": "container"}, {}, b"")
            if created.status not in (201, 409):
                raise ArmError(503, "ServerBusy", f"Azurite answers {created.status} to a new container.")
            self._made.add(name)
        path = f"/{ACCOUNT}/{name}" + (f"/{quote(blob, safe='/~')}" if blob else "")
        headers = {
            one: call.headers[one] for one in call.headers if one in _PASSED or one.startswith("x-ms-meta-")
        }
        reply = await self._ask(call.method, path, call.query, headers, call.body)
        stored = {one: value for one, value in reply.headers.items() if one.lower() in _BACK}
        return reply._replace(headers=stored)

    async def _ask(
        self, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> SiteResponse:
        own = {
            "x-ms-version": "2024-08-04",
            **headers,
            "x-ms-date": email.utils.formatdate(usegmt=True),
            "content-length": str(len(body)),
        }
        shown = sharedkey.signature(KEY, ACCOUNT, method, path, query, own)
        own["authorization"] = f"SharedKey {ACCOUNT}:{shown}"
        url = f"{self._root}{path}" + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        try:
            return await self._send(method, url, own, body)
        except OSError as error:
            raise ArmError(503, "ServerBusy", f"Azurite does not answer: {error}.") from error
