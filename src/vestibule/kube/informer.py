"""A follower that keeps whole objects, for kinds of which there are few; only managed fields are left out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from vestibule.api.gvk import Kind
from vestibule.kube import api_requests
from vestibule.kube.client import Client
from vestibule.kube.reflector import WATCH_SECONDS, Change, ListPage, Reflector

Object = dict[str, Any]


class InformerObject(NamedTuple):
    """One object."""

    namespace: str
    name: str
    version: str
    object: Object


class _ObjectList(msgspec.Struct):
    metadata: Object
    items: list[Object] | None = None


_list = msgspec.json.Decoder(_ObjectList).decode
_object = msgspec.json.Decoder(dict[str, Any]).decode


def informer_object(kind: Kind, obj: Object, *, managed: bool = False) -> InformerObject:
    """An object with its place; the API server leaves the kind out of the items of a list. ``managed``: who
    wrote what is kept."""
    obj.setdefault("apiVersion", kind.api_version)
    obj.setdefault("kind", kind.kind)
    meta = obj.get("metadata") or {}
    if not managed:
        meta.pop("managedFields", None)
    return InformerObject(
        str(meta.get("namespace") or ""),
        str(meta.get("name") or ""),
        str(meta.get("resourceVersion") or ""),
        obj,
    )


class Informer(Reflector[InformerObject]):
    """One kind, kept in step; every change is told with the object, a deletion with its last state."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        tell: Callable[[Change, Kind, Object], None],
        *,
        scope: api_requests.ListScope = api_requests.EVERYWHERE,
        optional: bool = False,
        managed: bool = False,
        clock: Callable[[], float] = time.monotonic,
        watch_seconds: tuple[int, int] = WATCH_SECONDS,
    ) -> None:
        super().__init__(
            client, kind, scope=scope, optional=optional, clock=clock, watch_seconds=watch_seconds
        )
        self._tell = tell
        self._managed = managed

    def _page(self, body: bytes) -> ListPage[InformerObject]:
        listed = _list(body)
        meta = listed.metadata
        found = [informer_object(self.kind, obj, managed=self._managed) for obj in listed.items or ()]
        return ListPage(found, str(meta.get("resourceVersion") or ""), str(meta.get("continue") or ""))

    def _item(self, raw: msgspec.Raw) -> tuple[InformerObject, str]:
        found = informer_object(self.kind, _object(raw), managed=self._managed)
        return found, found.version

    def _told(self, change: Change, found: InformerObject) -> None:
        self._tell(change, self.kind, found.object)
