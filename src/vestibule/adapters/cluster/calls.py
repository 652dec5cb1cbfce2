"""Verb and kind to an HTTP call, as a value. No socket here; ``client`` sends what this module prepares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec

from vestibule.core.kinds.gvk import Kind

PAGE: Final = 500
"""Objects per page of a list: 0.4 MB of JSON, decoded in a few milliseconds, so that requests are served
between."""


class Call(msgspec.Struct, frozen=True):
    """One request to an API server."""

    method: str
    path: str
    """With query, percent-encoded."""
    body: bytes = b""
    content_type: str = ""

    @property
    def reads(self) -> bool:
        """Whether it may be sent again after an accident on the wire."""
        return self.method == "GET"


def _path(kind: Kind, namespace: str, name: str = "", **query: str | int) -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    where = f"/namespaces/{quote(namespace, safe='')}" if kind.namespaced and namespace else ""
    what = f"/{quote(name, safe='')}" if name else ""
    asked = f"?{urlencode(query)}" if query else ""
    return f"{root}{where}/{kind.plural}{what}{asked}"


def get(kind: Kind, namespace: str, name: str) -> Call:
    """One object."""
    return Call("GET", _path(kind, namespace, name))


def list_page(kind: Kind, token: str = "") -> Call:
    """A page of all objects of a kind; the token comes from the page before."""
    more: dict[str, str | int] = {"limit": PAGE}
    if token:
        more["continue"] = token
    return Call("GET", _path(kind, "", "", **more))


def watch(kind: Kind, version: str, seconds: int) -> Call:
    """Every change after a version, with bookmarks, for so many seconds."""
    return Call(
        "GET",
        _path(
            kind,
            "",
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=version,
            timeoutSeconds=seconds,
        ),
    )


def apply(kind: Kind, obj: Mapping[str, Any], *, field_manager: str, force: bool) -> Call:
    """Server-side apply."""
    meta = obj["metadata"]
    path = _path(
        kind, meta.get("namespace", ""), meta["name"], fieldManager=field_manager, force=str(force).lower()
    )
    return Call("PATCH", path, msgspec.json.encode(obj), "application/apply-patch+yaml")


def create(kind: Kind, obj: Mapping[str, Any]) -> Call:
    """A new object; fails when it exists."""
    return Call(
        "POST",
        _path(kind, obj["metadata"].get("namespace", "")),
        msgspec.json.encode(obj),
        "application/json",
    )


def replace(kind: Kind, obj: Mapping[str, Any]) -> Call:
    """The whole object; fails when its resourceVersion is not the newest."""
    meta = obj["metadata"]
    return Call(
        "PUT",
        _path(kind, meta.get("namespace", ""), meta["name"]),
        msgspec.json.encode(obj),
        "application/json",
    )


def json_patch(kind: Kind, namespace: str, name: str, operations: list[dict[str, Any]]) -> Call:
    """RFC 6902 operations on an object."""
    return Call(
        "PATCH", _path(kind, namespace, name), msgspec.json.encode(operations), "application/json-patch+json"
    )
