"""Blobs in memory: put, get, delete, tags and lists, with ETags and conditions as the service has them."""

from __future__ import annotations

import email.utils
import itertools
import re
from typing import Final
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from vestibule_simulators.azure.blobs import BlobAddress
from vestibule_simulators.azure.responses import ArmError
from vestibule_simulators.azure.state import Blob, SubscriptionState
from vestibule_simulators.https_server import SiteRequest, SiteResponse

_TAGS: Final = re.compile(rb"<Tag>\s*<Key>(.*?)</Key>\s*<Value>(.*?)</Value>\s*</Tag>", re.DOTALL)
_TAG: Final = re.compile(r"[A-Za-z0-9 +./:=_-]*")
_MOST_TAGS: Final = 10
_RANGE: Final = re.compile(r"bytes=(\d+)-(\d*)")
_MISSING: Final = "The specified blob does not exist."


class MemoryBlobStore:
    """The store of a simulator without Azurite; all is in the world, so it is saved with it."""

    def __init__(self, state: SubscriptionState) -> None:
        self._world = state
        self._numbers = itertools.count(0x8DD0000000001)

    async def answer(self, place: BlobAddress, birth: str, call: SiteRequest) -> SiteResponse:
        """One call."""
        key = f"{place.account}/{place.container}/{place.blob}"
        comp = call.query.get("comp")
        if not place.blob:
            if call.method == "GET" and comp == "list":
                return self._list(key, call)
            raise ArmError(
                400, "InvalidQueryParameterValue", "The simulator does not do this to a container."
            )
        if comp == "tags":
            return self._tags(key, call)
        if comp is not None:
            raise ArmError(501, "NotImplemented", f"The simulator's own blobs have no '{comp}'; Azurite has.")
        if call.method == "PUT":
            return self._put(key, call)
        existing = self._there(key)
        if call.method == "DELETE":
            _conditions(existing, call)
            del self._world.blobs[key]
            return SiteResponse(202)
        if call.method in ("GET", "HEAD"):
            _conditions(existing, call)
            return _read(existing, call)
        raise ArmError(405, "UnsupportedHttpVerb", "The resource does not support this method.")

    def _there(self, key: str) -> Blob:
        found = self._world.blobs.get(key)
        if found is None:
            raise ArmError(404, "BlobNotFound", _MISSING)
        return found

    def _put(self, key: str, call: SiteRequest) -> SiteResponse:
        if call.headers.get("x-ms-blob-type") != "BlockBlob":
            raise ArmError(400, "InvalidHeaderValue", "The simulator's own store takes block blobs.")
        existing = self._world.blobs.get(key)
        _conditions(existing, call)
        headers = call.headers
        created = Blob(
            call.body,
            f'"0x{next(self._numbers):X}"',
            self._world.clock(),
            headers.get("x-ms-blob-content-type")
            or headers.get("content-type")
            or "application/octet-stream",
            headers.get("x-ms-blob-cache-control", ""),
            _checked(dict(parse_qsl(headers.get("x-ms-tags", ""), keep_blank_values=True))),
            {name[10:]: value for name, value in headers.items() if name.startswith("x-ms-meta-")},
        )
        self._world.blobs[key] = created
        return SiteResponse(201, b"", _shown(created))

    def _tags(self, key: str, call: SiteRequest) -> SiteResponse:
        existing = self._there(key)
        if call.method == "PUT":
            existing.tags = _checked(
                {name.decode(): value.decode() for name, value in _TAGS.findall(call.body)}
            )
            return SiteResponse(204)
        listed = "".join(
            f"<Tag><Key>{escape(name)}</Key><Value>{escape(value)}</Value></Tag>"
            for name, value in sorted(existing.tags.items())
        )
        return _document(f"<Tags><TagSet>{listed}</TagSet></Tags>")

    def _list(self, prefix: str, call: SiteRequest) -> SiteResponse:
        start = prefix + call.query.get("prefix", "")
        listed = []
        for key in sorted(one for one in self._world.blobs if one.startswith(start)):
            blob = self._world.blobs[key]
            listed.append(
                f"<Blob><Name>{escape(key.removeprefix(prefix))}</Name><Properties>"
                f"<Last-Modified>{_stamp(blob)}</Last-Modified><Etag>{escape(blob.etag)}</Etag>"
                f"<Content-Length>{len(blob.body)}</Content-Length>"
                f"<Content-Type>{escape(blob.content_type)}</Content-Type>"
                "<BlobType>BlockBlob</BlobType></Properties></Blob>"
            )
        return _document(
            f"<EnumerationResults><Blobs>{''.join(listed)}</Blobs><NextMarker/></EnumerationResults>"
        )


def _conditions(there: Blob | None, call: SiteRequest) -> None:
    """If-Match and If-None-Match. Raises Refusal."""
    desired, unwanted = call.headers.get("if-match"), call.headers.get("if-none-match")
    met = True
    if desired is not None:
        met = there is not None and desired in ("*", there.etag)
    if unwanted is not None and there is not None and unwanted in ("*", there.etag):
        if call.method == "PUT" and unwanted == "*":
            raise ArmError(409, "BlobAlreadyExists", "The specified blob already exists.")
        if call.method in ("GET", "HEAD"):
            raise ArmError(304, "ConditionNotMet", "The condition was not met.")
        met = False
    if not met:
        raise ArmError(
            412, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met."
        )


def _read(blob: Blob, call: SiteRequest) -> SiteResponse:
    headers = _shown(blob)
    headers["x-ms-blob-type"] = "BlockBlob"
    headers["Accept-Ranges"] = "bytes"
    match = _RANGE.fullmatch(call.headers.get("x-ms-range") or call.headers.get("range") or "")
    if match is None:
        return SiteResponse(200, blob.body, headers)
    start, end = int(match[1]), min(int(match[2] or len(blob.body) - 1), len(blob.body) - 1)
    if start >= len(blob.body):
        raise ArmError(416, "InvalidRange", "The range specified is invalid for the current size.")
    headers["Content-Range"] = f"bytes {start}-{end}/{len(blob.body)}"
    return SiteResponse(206, blob.body[start : end + 1], headers)


def _shown(blob: Blob) -> dict[str, str]:
    headers = {"ETag": blob.etag, "Last-Modified": _stamp(blob), "x-ms-request-server-encrypted": "true"}
    headers["Content-Type"] = blob.content_type
    if blob.cache_control:
        headers["Cache-Control"] = blob.cache_control
    if blob.tags:
        headers["x-ms-tag-count"] = str(len(blob.tags))
    return headers | {f"x-ms-meta-{name}": value for name, value in blob.metadata.items()}


def _checked(tags: dict[str, str]) -> dict[str, str]:
    if len(tags) > _MOST_TAGS:
        raise ArmError(400, "InvalidTag", f"A blob has at most {_MOST_TAGS} tags.")
    for name, value in tags.items():
        good = 0 < len(name) <= 128 and len(value) <= 256 and _TAG.fullmatch(name) and _TAG.fullmatch(value)
        if not good:
            raise ArmError(
                400, "InvalidTag", f"The tag '{name}' has characters or a length that are not allowed."
            )
    return tags


def _stamp(blob: Blob) -> str:
    return email.utils.formatdate(blob.modified, usegmt=True)


def _document(body: str) -> SiteResponse:
    content = f'<?xml version="1.0" encoding="utf-8"?>{body}'.encode()
    return SiteResponse(200, content, {"Content-Type": "application/xml"})
