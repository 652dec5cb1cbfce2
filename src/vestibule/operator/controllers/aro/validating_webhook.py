"""What is asked at the door: reviews of ARO objects, answered by the rules and live reads.

Every process answers, whether it leads or not; so nothing is looked up in watches here.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from vestibule import errors
from vestibule.api import aso, gvk
from vestibule.aro import author_access, garbage_collection, lifecycle, names, reviews, validation
from vestibule.aro.findings import Findings, RuleError
from vestibule.aro.ports import (
    ClusterNode,
    KeyQuestion,
    Listing,
    NodesQuestion,
    NotRead,
    Object,
    ObjectRef,
    Question,
    Unreadable,
)
from vestibule.httpserver.messages import HttpRequest, HttpResponse
from vestibule.kube import api_requests, lister
from vestibule.kube.client import Client, raise_for
from vestibule.kube.discovery import Discovery

logger = logging.getLogger(__name__)
_QUESTIONS: Final = 8
"""Things that the rules may ask for."""


class _LiveReader:
    """Fulfils ClusterReader with what was read for this one review."""

    deletions_checked: datetime.datetime | None = None

    def __init__(self, now: datetime.datetime, permitted: aso.PermittedKinds) -> None:
        self.now = now
        self.permitted = permitted
        self.answers: dict[Question, Any] = {}

    def get(self, ref: ObjectRef) -> Object | None:
        """See ClusterReader."""
        found: Object | None = self._answer(ref)
        return found

    def list(self, listing: Listing) -> Sequence[Object]:
        """See ClusterReader."""
        found: Sequence[Object] = self._answer(listing)
        return found

    def key_version(self, question: KeyQuestion) -> str:
        """See ClusterReader; no rule asks for it."""
        raise Unreadable(question, "is not asked for at the door")

    def nodes(self, question: NodesQuestion) -> Sequence[ClusterNode] | None:
        """See ClusterReader; no rule asks for it."""
        raise Unreadable(question, "are not asked for at the door")

    def parsed(self, text: bytes) -> Any:
        """See ClusterReader; no rule asks for it."""
        raise ValueError(f"{len(text)} bytes are not read at the door")

    def _answer(self, question: Question) -> Any:
        if question not in self.answers:
            raise NotRead(question)
        return self.answers[question]


class ValidatingWebhook:
    """Answers at one path."""

    def __init__(
        self,
        client: Client,
        now: Callable[[], datetime.datetime],
        permitted: aso.PermittedKinds = aso.STANDARD,
    ) -> None:
        self._client = client
        self._now = now
        self._permitted = permitted
        self._discovery = Discovery(client)
        for kind in (
            names.CLUSTER,
            names.MACHINE_POOL,
            names.ARO_MACHINE_POOL,
            names.IDENTITY,
            gvk.NAMESPACE,
        ):
            self._discovery.known(kind)

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """One review. What cannot be looked up is answered so that the API server asks again."""
        if request.path != reviews.PATH:
            return HttpResponse(404, b"", "text/plain")
        try:
            asked = reviews.decode(request.body)
            return HttpResponse(200, reviews.encode(asked, await self._found(asked)))
        except errors.MalformedReview as error:
            return HttpResponse(error.status, str(error).encode(), "text/plain")
        except errors.VestibuleError as error:
            logger.warning("review not answered", extra={"error": str(error)})
            return HttpResponse(503, str(error).encode(), "text/plain", retry_after=1)

    async def _found(self, asked: reviews.AroReview) -> Findings:
        if reviews.unchanged(asked):
            return Findings()
        live = _LiveReader(self._now(), self._permitted)
        for _ in range(_QUESTIONS):
            try:
                found = self._ruled(asked, live)
                break
            except NotRead as unread:
                live.answers[unread.question] = await self._read(unread.question)
        else:
            raise errors.Unavailable(f"the rules asked for more than {_QUESTIONS} things")
        if asked.operation == "DELETE":
            return found
        return Findings((*found.errors, *await self._denied(asked)), found.warnings)

    def _ruled(self, asked: reviews.AroReview, live: _LiveReader) -> Findings:
        found = validation.review(asked.operation, asked.object, asked.old, live)
        if asked.operation != "DELETE":
            return found
        unasked = garbage_collection.unasked(asked.user.username, asked.object, live)
        return Findings((*found.errors, *unasked), found.warnings)

    async def _denied(self, asked: reviews.AroReview) -> list[RuleError]:
        """What the author may not create themselves, asked of the API server. Whoever cannot be asked about
        is not let in: raises Unavailable, Forbidden."""
        obj, user = asked.object, asked.user
        old = asked.old if asked.operation == "UPDATE" else None
        needed = author_access.needed(obj, old, self._permitted)
        where = lifecycle.namespace(obj)
        allowed = await asyncio.gather(*(self._allowed(user, one, where) for one in needed))
        return [
            error
            for (access, places), fine in zip(needed.items(), allowed, strict=True)
            if not fine
            for error in author_access.denied(user, access, where, places)
        ]

    async def _allowed(
        self, user: author_access.RequestUser, access: author_access.RequiredAccess, where: str
    ) -> bool:
        if not user.username:
            return False
        question = author_access.question(user, access, where)
        answer = await self._client.send(api_requests.create(author_access.REVIEW, question))
        if answer.status != 201:
            raise_for(answer, f"asking whether {user.username} may {access}")
        try:
            said = msgspec.json.decode(answer.body, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise errors.Unavailable("the answer about rights is no JSON object") from error
        return (said.get("status") or {}).get("allowed") is True

    async def _read(self, question: Question) -> Any:
        if isinstance(question, Listing):
            kind = await self._discovery.find(*question.gvk)
            return [] if kind is None else await lister.every(self._client, kind, question.namespace)
        if isinstance(question, ObjectRef):
            kind = await self._discovery.find(question.group, question.version, question.kind)
            if kind is None:
                return None
            return await lister.one(self._client, kind, question.namespace, question.name)
        raise errors.Unavailable(f"{question} is not asked for at the door")
