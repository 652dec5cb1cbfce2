"""A follower that keeps of each object what a decision about a pod needs, and nothing else: there may be a
hundred thousand of them."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from vestibule.api.gvk import Kind
from vestibule.injection.facts import SourceObject
from vestibule.kube.client import Client
from vestibule.kube.ports import WatchEvent
from vestibule.kube.reflector import Change, ListPage, Reflector
from vestibule.kube.slim_store import SlimObject, source


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _SlimPage(msgspec.Struct):
    metadata: _ListMeta
    items: list[SlimObject] | None = None


_page = msgspec.json.Decoder(_SlimPage).decode
_item = msgspec.json.Decoder(SlimObject).decode


class SlimInformer(Reflector[SourceObject]):
    """One kind, kept in step; every change is told."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        tell: Callable[[WatchEvent], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(client, kind, clock=clock)
        self._tell = tell

    def _page(self, body: bytes) -> ListPage[SourceObject]:
        page = _page(body)
        found = (source(self.kind, item) for item in page.items or ())
        return ListPage(found, page.metadata.resource_version, page.metadata.continue_)

    def _item(self, raw: msgspec.Raw) -> tuple[SourceObject, str]:
        item = _item(raw)
        return source(self.kind, item), item.metadata.resource_version

    def _told(self, change: Change, found: SourceObject) -> None:
        self._tell(WatchEvent(change, self.kind, found))
