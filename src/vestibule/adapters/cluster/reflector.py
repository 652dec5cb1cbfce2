"""A follower that keeps of each object what a decision about a pod needs, and nothing else: there may be a
hundred thousand of them."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.follower import Change, Follower, Page
from vestibule.adapters.cluster.ports import Event
from vestibule.adapters.cluster.store import Item, source
from vestibule.core.kinds.gvk import Kind
from vestibule.core.mutation.facts import Source


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMeta
    items: list[Item] | None = None


_page = msgspec.json.Decoder(_Page).decode
_item = msgspec.json.Decoder(Item).decode


class Reflector(Follower[Source]):
    """One kind, kept in step; every change is told."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        tell: Callable[[Event], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(client, kind, clock=clock)
        self._tell = tell

    def _page(self, body: bytes) -> Page[Source]:
        page = _page(body)
        found = (source(self.kind, item) for item in page.items or ())
        return Page(found, page.metadata.resource_version, page.metadata.continue_)

    def _item(self, raw: msgspec.Raw) -> tuple[Source, str]:
        item = _item(raw)
        return source(self.kind, item), item.metadata.resource_version

    def _told(self, change: Change, found: Source) -> None:
        self._tell(Event(change, self.kind, found))
