"""A World over objects at hand: manifests, without a cluster. What is not there does not exist."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Any

from vestibule.api import aso
from vestibule.aro import embedded
from vestibule.aro.embedded import Object
from vestibule.aro.ports import ClusterNode, KeyQuestion, Listing, NodesQuestion, ObjectRef

FROM_VAULT = "<current version, from the vault>"
NEVER = datetime.datetime.fromtimestamp(0, datetime.UTC)


class ManifestReader:
    """Fulfils ClusterReader."""

    deletions_checked: datetime.datetime | None = None

    def __init__(
        self,
        objects: Iterable[Object],
        now: datetime.datetime = NEVER,
        permitted: aso.PermittedKinds = aso.STANDARD,
    ) -> None:
        self.now = now
        self.permitted = permitted
        self._objects = list(objects)

    def get(self, ref: ObjectRef) -> Object | None:
        """See ClusterReader."""
        for one in self._objects:
            meta = one["metadata"]
            if (
                embedded.identity(one) == (ref.group, ref.kind, ref.name)
                and str(meta.get("namespace") or "") == ref.namespace
            ):
                return one
        return None

    def list(self, listing: Listing) -> Sequence[Object]:
        """See ClusterReader."""
        what = listing.gvk
        return [
            one
            for one in self._objects
            if embedded.of(one)[::2] == (what.group, what.kind)
            and str(one["metadata"].get("namespace") or "") == listing.namespace
        ]

    def key_version(self, question: KeyQuestion) -> str:
        """See ClusterReader; nobody is asked."""
        del question
        return FROM_VAULT

    def nodes(self, question: NodesQuestion) -> Sequence[ClusterNode] | None:
        """See ClusterReader; nobody is asked."""
        del question
        return None

    def parsed(self, text: bytes) -> Any:
        """See ClusterReader; kubeconfigs are none of a manifest's business."""
        del text
        raise ValueError("is not read here")
