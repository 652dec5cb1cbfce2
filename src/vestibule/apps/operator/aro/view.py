"""The World of one decision: what is watched is looked up, the rest is asked for once and remembered."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from vestibule import errors
from vestibule.adapters.cluster import pages, stored
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.discovery import Discovery
from vestibule.apps.operator.aro.sight import Keys as Concerned
from vestibule.apps.operator.aro.sight import Sight
from vestibule.core.aro.embedded import Gvk
from vestibule.core.aro.world import (
    KeyQuestion,
    Listing,
    Node,
    NodesQuestion,
    NoKind,
    Object,
    Question,
    Ref,
    Unread,
    Unreadable,
)
from vestibule.core.kinds.asokinds import Permitted

_AZURE: Final = ".azure.com"


class Keys(Protocol):
    """Who knows the keys of vaults."""

    async def version(self, question: KeyQuestion) -> str:
        """The current version of a key, which is made when there is none. Raises Unavailable, Forbidden."""
        ...


class Workloads(Protocol):
    """Who knows the nodes of workload clusters."""

    async def nodes(self, question: NodesQuestion) -> Sequence[Node] | None:
        """The nodes; None when the cluster cannot be reached."""
        ...


class Sources:
    """Where answers come from; one for all decisions."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        sight: Sight,
        keys: Keys,
        workloads: Workloads,
        inside: Concerned,
        permitted: Permitted,
        checked: Callable[[], datetime.datetime | None],
    ) -> None:
        self.client = client
        self.discovery = discovery
        self.sight = sight
        self.keys = keys
        self.workloads = workloads
        self.inside = inside
        self.permitted = permitted
        self.checked = checked


class View:
    """Fulfils World; ``fetch`` answers what was not asked yet."""

    def __init__(self, sources: Sources, now: datetime.datetime) -> None:
        self.now = now
        self.permitted = sources.permitted
        self.deletions_checked = sources.checked()
        self._sources = sources
        self._answers: dict[Question, Any] = {}

    # ── World ───────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, ref: Ref) -> Object | None:
        """See World."""
        kind = self._sources.sight.kind(Gvk(ref.group, ref.version, ref.kind))
        if kind is not None:
            return self._sources.sight.get(kind, ref.namespace, ref.name)
        found: Object | None = self._answer(ref)
        return found

    def list(self, listing: Listing) -> Sequence[Object]:
        """See World."""
        kind = self._sources.sight.kind(listing.gvk)
        if kind is not None:
            return list(self._sources.sight.list(kind, listing.namespace))
        found: Sequence[Object] = self._answer(listing)
        return found

    def key_version(self, question: KeyQuestion) -> str:
        """See World."""
        return str(self._answer(question))

    def nodes(self, question: NodesQuestion) -> Sequence[Node] | None:
        """See World."""
        found: Sequence[Node] | None = self._answer(question)
        return found

    def parsed(self, text: bytes) -> Any:
        """See World."""
        return stored.values(text)

    def _answer(self, question: Question) -> Any:
        if question not in self._answers:
            raise Unread(question)
        answer = self._answers[question]
        if isinstance(answer, Exception):
            raise answer
        return answer

    # ── asking ──────────────────────────────────────────────────────────────────────────────────────────────

    async def fetch(self, question: Question) -> None:
        """Ask for it; a failure is an answer, too."""
        try:
            self._answers[question] = await self._asked(question)
        except NoKind as error:
            self._answers[question] = error
        except (errors.Unavailable, errors.Forbidden, errors.NotFound) as error:
            self._answers[question] = Unreadable(question, str(error))

    def forget(self, question: Question) -> None:
        """It may be another by now: it was written."""
        self._answers.pop(question, None)

    async def _asked(self, question: Question) -> Any:
        sources = self._sources
        if isinstance(question, KeyQuestion):
            return await sources.keys.version(question)
        if isinstance(question, NodesQuestion):
            return await sources.workloads.nodes(question)
        gvk = (
            question.gvk
            if isinstance(question, Listing)
            else Gvk(question.group, question.version, question.kind)
        )
        if isinstance(question, Listing) or gvk.group.endswith(_AZURE):
            kind = await sources.sight.watched(gvk, sources.inside)
            if kind is None:
                raise NoKind(gvk)
            if isinstance(question, Listing):
                return list(sources.sight.list(kind, question.namespace))
            return sources.sight.get(kind, question.namespace, question.name)
        kind = await sources.discovery.find(*gvk)
        if kind is None:
            raise NoKind(gvk)
        return await pages.one(sources.client, kind, question.namespace, question.name)
