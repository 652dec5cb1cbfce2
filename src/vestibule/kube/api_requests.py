"""Verb and kind to an HTTP call, as a value. No socket here; ``client`` sends what this module prepares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from vestibule import errors
from vestibule.api.gvk import Kind

PAGE: Final = 500
"""Objects per page of a list: 0.4 MB of JSON, decoded in a few milliseconds, so that requests are served
between."""


class ApiRequest(msgspec.Struct, frozen=True):
    """One request to an API server."""

    method: str
    path: str
    """With query, percent-encoded."""
    body: bytes = b""
    content_type: str = ""
    once: bool = False
    """Whether a 429 is an answer, not a reason to ask again: an eviction that a budget forbids."""
    accept: str = ""
    """The type that is asked for, where it is not JSON."""

    @property
    def reads(self) -> bool:
        """Whether it may be sent again after an accident on the wire."""
        return self.method == "GET"


class ListScope(NamedTuple):
    """Which objects of a kind: those of a namespace, or of all; those with labels, or all."""

    namespace: str = ""
    selector: str = ""


EVERYWHERE: Final = ListScope()


def is_name(text: str) -> bool:
    """Whether an object can have this name at all."""
    return (
        bool(text) and text not in (".", "..") and text.isprintable() and "/" not in text and "%" not in text
    )


def _segment(kind: Kind, text: str) -> str:
    """A name as one segment of a path; raises InvalidInput for one that an API server would read as several,
    because it splits the path after decoding it."""
    if not is_name(text):
        wrong = f"{text[:80]!r} is no name of an object, want one without '/' and '%'"
        raise errors.InvalidInput(errors.InputProblem(kind.kind, "name", wrong))
    return quote(text, safe="")


def _path(kind: Kind, namespace: str, name: str = "", sub: str = "", /, **query: str | int) -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    where = f"/namespaces/{_segment(kind, namespace)}" if kind.namespaced and namespace else ""
    what = f"/{_segment(kind, name)}" if name else ""
    what += f"/{sub}" if sub else ""
    asked = f"?{urlencode(query)}" if query else ""
    return f"{root}{where}/{kind.plural}{what}{asked}"


def document(path: str) -> ApiRequest:
    """What the API server serves that is no object, in whatever type."""
    return ApiRequest("GET", path, accept="*/*")


def get(kind: Kind, namespace: str, name: str) -> ApiRequest:
    """One object."""
    return ApiRequest("GET", _path(kind, namespace, name))


def list_page(kind: Kind, token: str = "", scope: ListScope = EVERYWHERE, *, size: int = PAGE) -> ApiRequest:
    """A page of the objects of a kind; the token comes from the page before."""
    more: dict[str, str | int] = {"limit": size}
    if token:
        more["continue"] = token
    if scope.selector:
        more["labelSelector"] = scope.selector
    return ApiRequest("GET", _path(kind, scope.namespace, "", **more))


def watch(kind: Kind, version: str, seconds: int, scope: ListScope = EVERYWHERE) -> ApiRequest:
    """Every change after a version, with bookmarks, for so many seconds."""
    more: dict[str, str | int] = {"labelSelector": scope.selector} if scope.selector else {}
    return ApiRequest(
        "GET",
        _path(
            kind,
            scope.namespace,
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=version,
            timeoutSeconds=seconds,
            **more,
        ),
    )


def apply(kind: Kind, obj: Mapping[str, Any], *, field_manager: str, force: bool) -> ApiRequest:
    """Server-side apply."""
    meta = obj["metadata"]
    path = _path(
        kind, meta.get("namespace", ""), meta["name"], fieldManager=field_manager, force=str(force).lower()
    )
    return ApiRequest("PATCH", path, msgspec.json.encode(obj), "application/apply-patch+yaml")


def create(kind: Kind, obj: Mapping[str, Any], *, dry_run: bool = False) -> ApiRequest:
    """A new object; fails when it exists. ``dry_run``: it is only told what it would be."""
    query = {"dryRun": "All"} if dry_run else {}
    return ApiRequest(
        "POST",
        _path(kind, obj["metadata"].get("namespace", ""), **query),
        msgspec.json.encode(obj),
        "application/json",
    )


def create_under(kind: Kind, namespace: str, name: str, sub: str, obj: Mapping[str, Any]) -> ApiRequest:
    """A request to an object, such as one for a token of a ServiceAccount."""
    return ApiRequest("POST", _path(kind, namespace, name, sub), msgspec.json.encode(obj), "application/json")


def replace(kind: Kind, obj: Mapping[str, Any]) -> ApiRequest:
    """The whole object; fails when its resourceVersion is not the newest."""
    meta = obj["metadata"]
    return ApiRequest(
        "PUT",
        _path(kind, meta.get("namespace", ""), meta["name"]),
        msgspec.json.encode(obj),
        "application/json",
    )


def json_patch(kind: Kind, namespace: str, name: str, operations: list[dict[str, Any]]) -> ApiRequest:
    """RFC 6902 operations on an object."""
    return ApiRequest(
        "PATCH", _path(kind, namespace, name), msgspec.json.encode(operations), "application/json-patch+json"
    )


def merge_patch(
    kind: Kind, namespace: str, name: str, change: Mapping[str, Any], sub: str = ""
) -> ApiRequest:
    """RFC 7396; with ``metadata.resourceVersion`` in it, it fails when somebody wrote in between."""
    return ApiRequest(
        "PATCH",
        _path(kind, namespace, name, sub),
        msgspec.json.encode(change),
        "application/merge-patch+json",
    )


def delete(kind: Kind, namespace: str, name: str, *, uid: str) -> ApiRequest:
    """Delete this very object, and later what hangs on it; one that took its name meanwhile stays."""
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": uid},
        "propagationPolicy": "Background",
    }
    return ApiRequest(
        "DELETE", _path(kind, namespace, name), msgspec.json.encode(options), "application/json"
    )


def evict(pod: Kind, namespace: str, name: str, *, uid: str, dry_run: bool = False) -> ApiRequest:
    """Ask for this very pod to go, as far as disruption budgets allow: 429 when they do not."""
    options: dict[str, Any] = {"preconditions": {"uid": uid}, **({"dryRun": ["All"]} if dry_run else {})}
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": options,
    }
    path = _path(pod, namespace, name, "eviction")
    return ApiRequest("POST", path, msgspec.json.encode(body), "application/json", once=True)
