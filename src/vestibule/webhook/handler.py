"""One AdmissionReview: bytes in, bytes out. Takes the current policy once, reads through the cache,
decides, answers.

Everything on the common path happens in one call without a pause; only a cache miss or a ConfigMap to write
makes it a coroutine. A policy's "no" is an answer; a fault is an exception, which the server turns into a
status code, so that the cluster's failure policy decides about it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import msgspec

from vestibule import errors
from vestibule.admission import review as reviews
from vestibule.admission import verdict as verdicts
from vestibule.admission.review import DecodedReview, Pod
from vestibule.admission.verdict import Verdict
from vestibule.httpserver.server import HttpRequest, HttpResponse
from vestibule.injection import lookups, pipeline
from vestibule.injection.facts import LookupUnknown
from vestibule.injection.policy import Policy
from vestibule.kube import fact_reader
from vestibule.kube.ports import Cache, Reader, Writer


class Observer(Protocol):
    """Observers of every response; must be quick and must not raise."""

    def verdict(self, review: DecodedReview, verdict: Verdict, seconds: float) -> None:
        """A review was decided."""
        ...

    def malformed(self, status: int) -> None:
        """A body was no review."""
        ...


class Handler:
    """The function behind ``/mutate``."""

    def __init__(
        self,
        policy: Callable[[], Policy],
        cache: Cache,
        reader: Reader,
        writer: Writer | None,
        observer: Observer,
    ) -> None:
        self._policy = policy
        self._cache = cache
        self._reader = reader
        self._writer = writer
        self._observer = observer

    def __call__(self, request: HttpRequest) -> HttpResponse | Coroutine[Any, Any, HttpResponse]:
        """Answer one HTTP request."""
        if request.method != "POST":
            return HttpResponse(405, b"want POST", "text/plain")
        if request.content_type != "application/json" and not _is_json(request.content_type):
            self._observer.malformed(415)
            if self._policy().rules.denials:
                text = f"contentType={request.content_type}, expected application/json"
                return HttpResponse(200, reviews.denial(b"", text, 400))
            return HttpResponse(415, b"want Content-Type: application/json", "text/plain")
        try:
            answer = self.answer(request.body)
        except (errors.MalformedReview, msgspec.MsgspecError) as error:
            return self._malformed(error, request.body)
        if isinstance(answer, bytes):
            return HttpResponse(200, answer)
        return self._later(answer, request.body)

    def fault(self, request: HttpRequest) -> HttpResponse | None:
        """The answer where a review ended in an unexpected exception. Where policies limit identities or
        namespaces are confidential, the pod is refused: a tenant who finds a review that fails must not get
        past them by it. Elsewhere the failure policy decides."""
        if request.method != "POST" or not self._policy().closed:
            return None
        text = (
            "the review failed unexpectedly, and policies apply to this cluster's pods: see the webhook's log"
        )
        return HttpResponse(200, reviews.denial(request.body, text, 500))

    def answer(self, body: bytes) -> bytes | Coroutine[Any, Any, bytes]:
        """The answer to a review, or a coroutine where something must be read or written first."""
        started = time.perf_counter()
        policy = self._policy()
        review = reviews.decode(body)
        request = review.request
        verdict = pipeline.early(request, policy)
        if verdict is None:
            pod = request.object
            assert pod is not None, "early() lets no review without a pod pass"  # noqa: S101 - narrows the type
            try:
                facts = lookups.collect(request, pod, policy.rules, self._cache.peek)
            except LookupUnknown:
                return self._on_miss(review, pod, policy, started, body)
            verdict = pipeline.decide(request, facts, policy, body)
            if verdict.effects and not request.dry_run:
                return self._write(review, verdict, policy, started)
        return self._encode(review, verdict, policy, started)

    async def _on_miss(
        self, review: DecodedReview, pod: Pod, policy: Policy, started: float, body: bytes
    ) -> bytes:
        try:
            facts = await fact_reader.facts(review.request, pod, policy.rules, self._cache, self._reader)
        except (errors.Unavailable, errors.Forbidden) as error:
            return self._encode(review, pipeline.failed(policy, error), policy, started)
        verdict = pipeline.decide(review.request, facts, policy, body)
        if verdict.effects and not review.request.dry_run:
            return await self._write(review, verdict, policy, started)
        return self._encode(review, verdict, policy, started)

    async def _write(self, review: DecodedReview, verdict: Verdict, policy: Policy, started: float) -> bytes:
        try:
            if self._writer is None:
                raise errors.Forbidden("this webhook has no permission to write ConfigMaps")
            for effect in verdict.effects:
                await self._writer.apply(
                    effect.object, field_manager=effect.field_manager, force=effect.force
                )
        except (errors.Unavailable, errors.Forbidden, errors.Conflict) as error:
            verdict = pipeline.failed(policy, error)
        return self._encode(review, verdict, policy, started)

    def _encode(self, review: DecodedReview, verdict: Verdict, policy: Policy, started: float) -> bytes:
        body = reviews.encode(review, verdict, report=policy.rules.warn)
        self._observer.verdict(review, verdict, time.perf_counter() - started)
        return body

    async def _later(self, answer: Coroutine[Any, Any, bytes], body: bytes) -> HttpResponse:
        try:
            return HttpResponse(200, await answer)
        except (errors.MalformedReview, msgspec.MsgspecError) as error:
            return self._malformed(error, body)

    def _malformed(self, error: errors.MalformedReview | msgspec.MsgspecError, body: bytes) -> HttpResponse:
        if not isinstance(error, errors.MalformedReview):  # a part that is read late has the wrong shape
            error = errors.MalformedReview(422, verdicts.ascii_line(str(error), 200), "request.object")
        self._observer.malformed(error.status)
        if self._policy().rules.denials:
            text = str(error) if body else "request body is empty"
            return HttpResponse(200, reviews.denial(body, text, 400))
        return HttpResponse(error.status, str(error).encode(), "text/plain")


def _is_json(content_type: str) -> bool:
    """Whether the header names JSON, with or without parameters."""
    return content_type.partition(";")[0].strip().lower() == "application/json"
