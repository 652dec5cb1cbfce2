"""The World of one decision: what is watched is looked up, the rest is asked for once and remembered."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from vestibule import errors
from vestibule.api.aso import PermittedKinds
from vestibule.aro.embedded import Gvk
from vestibule.aro.ports import (
    ClusterNode,
    KeyQuestion,
    Listing,
    NodesQuestion,
    NoKind,
    NotRead,
    Object,
    ObjectRef,
    Question,
    Unreadable,
)
from vestibule.kube import lister, stored_access
from vestibule.kube.client import Client
from vestibule.kube.discovery import Discovery
from vestibule.operator.controllers.aro.informers import AroInformers
from vestibule.operator.controllers.aro.informers import Keys as Concerned

_AZURE: Final = ".azure.com"


class KeyReader(Protocol):
    """Who knows the keys of vaults."""

    async def version(self, question: KeyQuestion) -> str:
        """The current version of a key, which is made when there is none. Raises Unavailable, Forbidden."""
        ...


class NodeReader(Protocol):
    """Who knows the nodes of workload clusters."""

    async def nodes(self, question: NodesQuestion) -> Sequence[ClusterNode] | None:
        """The nodes; None when the cluster cannot be reached."""
        ...


class ReaderSources:
    """Where answers come from; one for all decisions."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        informer_cache: AroInformers,
        keys: KeyReader,
        workloads: NodeReader,
        inside: Concerned,
        permitted: PermittedKinds,
        checked: Callable[[], datetime.datetime | None],
    ) -> None:
        self.client = client
        self.discovery = discovery
        self.informer_cache = informer_cache
        self.keys = keys
        self.workloads = workloads
        self.inside = inside
        self.permitted = permitted
        self.checked = checked


class CachedReader:
    """Fulfils ClusterReader; ``fetch`` answers what was not asked yet."""

    def __init__(self, sources: ReaderSources, now: datetime.datetime) -> None:
        self.now = now
        self.permitted = sources.permitted
        self.deletions_checked = sources.checked()
        self._sources = sources
        self._answers: dict[Question, Any] = {}

    # ── World ───────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, ref: ObjectRef) -> Object | None:
        """See ClusterReader."""
        kind = self._sources.informer_cache.kind(Gvk(ref.group, ref.version, ref.kind))
        if kind is not None:
            return self._sources.informer_cache.get(kind, ref.namespace, ref.name)
        found: Object | None = self._answer(ref)
        return found

    def list(self, listing: Listing) -> Sequence[Object]:
        """See ClusterReader."""
        kind = self._sources.informer_cache.kind(listing.gvk)
        if kind is not None:
            return list(self._sources.informer_cache.list(kind, listing.namespace))
        found: Sequence[Object] = self._answer(listing)
        return found

    def key_version(self, question: KeyQuestion) -> str:
        """See ClusterReader."""
        return str(self._answer(question))

    def nodes(self, question: NodesQuestion) -> Sequence[ClusterNode] | None:
        """See ClusterReader."""
        found: Sequence[ClusterNode] | None = self._answer(question)
        return found

    def parsed(self, text: bytes) -> Any:
        """See ClusterReader."""
        return stored_access.values(text)

    def _answer(self, question: Question) -> Any:
        if question not in self._answers:
            raise NotRead(question)
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
            kind = await sources.informer_cache.watched(gvk, sources.inside)
            if kind is None:
                raise NoKind(gvk)
            if isinstance(question, Listing):
                return list(sources.informer_cache.list(kind, question.namespace))
            return sources.informer_cache.get(kind, question.namespace, question.name)
        kind = await sources.discovery.find(*gvk)
        if kind is None:
            raise NoKind(gvk)
        return await lister.one(sources.client, kind, question.namespace, question.name)
