"""A World over objects at hand: manifests, without a cluster. What is not there does not exist."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

from vestibule.core.aro import embedded
from vestibule.core.aro.embedded import Object
from vestibule.core.aro.world import KeyQuestion, Listing, Node, NodesQuestion, Ref
from vestibule.core.kinds import asokinds

FROM_VAULT = "<current version, from the vault>"
NEVER = datetime.datetime.fromtimestamp(0, datetime.UTC)


class Shelf:
    """Fulfils World."""

    deletions_checked: datetime.datetime | None = None

    def __init__(
        self,
        objects: Iterable[Object],
        now: datetime.datetime = NEVER,
        permitted: asokinds.Permitted = asokinds.STANDARD,
    ) -> None:
        self.now = now
        self.permitted = permitted
        self._objects = list(objects)

    def get(self, ref: Ref) -> Object | None:
        """See World."""
        for one in self._objects:
            meta = one["metadata"]
            if (
                embedded.identity(one) == (ref.group, ref.kind, ref.name)
                and str(meta.get("namespace") or "") == ref.namespace
            ):
                return one
        return None

    def list(self, listing: Listing) -> Sequence[Object]:
        """See World."""
        what = listing.gvk
        return [
            one
            for one in self._objects
            if embedded.of(one)[::2] == (what.group, what.kind)
            and str(one["metadata"].get("namespace") or "") == listing.namespace
        ]

    def key_version(self, question: KeyQuestion) -> str:
        """See World; nobody is asked."""
        del question
        return FROM_VAULT

    def nodes(self, question: NodesQuestion) -> Sequence[Node] | None:
        """See World; nobody is asked."""
        del question
        return None

    def parsed(self, text: bytes) -> Any:
        """See World; kubeconfigs are none of a manifest's business."""
        del text
        raise ValueError("is not read here")
