"""Lists of any kind, page by page, so that a large cluster is never held in memory at once. Only reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.kube import api_requests, client
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import Client

Object = dict[str, Any]
_TRIES: Final = 3
"""Times a list is begun again when its place was forgotten by the server meanwhile."""
_GUARDED: Final = 32 * 1024 * 1024
"""Bytes of a whole list of a cluster that a tenant names: it could send pages for ever."""
_GUARDED_PAGES: Final = 200
"""Pages of it; they may be empty."""
_WIRE = msgspec.json.Decoder(dict[str, Any]).decode


async def pages(
    asked: Client, kind: Kind, namespace: str = "", *, size: int = api_requests.PAGE, selector: str = ""
) -> AsyncIterator[list[Object]]:
    """The objects of a kind, in one namespace or in all. A kind that the cluster does not serve has none.

    A list that takes so long that the server forgets its place goes on from where the server now is; objects
    may then come twice. Raises Forbidden, Unavailable.
    """
    token, tries, taken, number = "", 0, 0, 0
    while True:
        answer = await asked.send(_call(kind, namespace, size, token, selector))
        if answer.status == 404:
            return
        if answer.status == 410 and tries < _TRIES:
            token, tries = _inconsistent(answer.body), tries + 1
            continue
        if answer.status != 200:
            client.raise_for(answer, f"listing {kind}")
        taken += len(answer.body)
        number += 1
        if asked.access.guard is not None and (taken > _GUARDED or number > _GUARDED_PAGES):
            raise errors.Unavailable(f"listing {kind}: the list is larger than we take")
        document = _decoded(answer.body, str(kind))
        yield _items(document, kind)
        token = (document.get("metadata") or {}).get("continue") or ""
        if not token:
            return


def items(answer: client.ApiResponse, kind: Kind) -> list[Object]:
    """The objects of one page; none of a kind that is not served. Raises Forbidden, Unavailable."""
    if answer.status == 404:
        return []
    if answer.status != 200:
        client.raise_for(answer, f"listing {kind}")
    return _items(_decoded(answer.body, str(kind)), kind)


def _items(document: Object, kind: Kind) -> list[Object]:
    listed: list[Object] = document.get("items") or []
    for item in listed:
        # the kind is not in the items of a list
        item.setdefault("apiVersion", kind.api_version)
        item.setdefault("kind", kind.kind)
    return listed


async def every(asked: Client, kind: Kind, namespace: str = "", *, selector: str = "") -> list[Object]:
    """All at once, for kinds of which there are few."""
    return [item async for page in pages(asked, kind, namespace, selector=selector) for item in page]


async def one(asked: Client, kind: Kind, namespace: str, name: str) -> Object | None:
    """One whole object, or None when there is none. Raises Forbidden, Unavailable."""
    answer = await asked.send(api_requests.get(kind, namespace, name))
    if answer.status == 404:
        return None
    if answer.status != 200:
        client.raise_for(answer, f"reading {kind.kind} {namespace}/{name}".replace(" /", " "))
    return _decoded(answer.body, f"{kind.kind} {name}")


def _call(kind: Kind, namespace: str, size: int, token: str, selector: str) -> ApiRequest:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    where = f"/namespaces/{quote(namespace, safe='')}" if kind.namespaced and namespace else ""
    query: dict[str, str | int] = {"limit": size}
    if token:
        query["continue"] = token
    if selector:
        query["labelSelector"] = selector
    return ApiRequest("GET", f"{root}{where}/{kind.plural}?{urlencode(query)}")


def _inconsistent(body: bytes) -> str:
    """The token with which the server lets a list go on after it forgot its place; empty: from the start."""
    try:
        return str((_WIRE(body).get("metadata") or {}).get("continue") or "")
    except msgspec.MsgspecError:
        return ""


def _decoded(body: bytes, what: str) -> Object:
    try:
        return _WIRE(body)
    except msgspec.MsgspecError as error:
        raise errors.LookupFailed(what, "the answer is no JSON object") from error
