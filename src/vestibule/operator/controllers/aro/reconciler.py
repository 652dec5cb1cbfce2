"""One look at an ARO object: decide, ask for what the decision needs, carry it out, until it stands.

What was written is looked at again in the same look, so that a status never speaks of a state before our own
writes, and a chain of steps takes no pauses between them.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.aro import embedded, lifecycle, names
from vestibule.aro.ports import ClusterReader, NotRead, Object, ObjectEvent, ReconcileResult
from vestibule.operator.controllers.aro.apply import ApplyFailures, AroApplier, Failure
from vestibule.operator.controllers.aro.informers import AroInformers
from vestibule.operator.controllers.aro.reader import CachedReader, ReaderSources
from vestibule.operator.events import Events
from vestibule.operator.result import Reconciled, RequeueAfter, Result, Terminal
from vestibule.telemetry.aro_metrics import AroMetrics

logger = logging.getLogger(__name__)
Decide = Callable[[Object, ClusterReader], ReconcileResult]
_QUESTIONS: Final = 64
"""Things that one decision may ask for: a bound against a decision that asks for ever."""
_CONFLICT_SECONDS: Final = 0.2
_MOST_EVENTS: Final = 10
"""Of failures in one reconcile; the rest is in the conditions."""
_LONGEST_MESSAGE: Final = 1000
"""Characters of a message in ``status.resources``."""
_STEPS: Final = 8
"""Passes of one look; a chain has fewer."""


class ReconcileFailed(errors.VestibuleError):
    """The look ended in an error that its object tells; it is tried again."""


class AroReconcilerDeps(NamedTuple):
    """What a reconciler works with."""

    sources: ReaderSources
    performer: AroApplier
    events: Events
    now: Callable[[], datetime.datetime]
    told: Callable[[str, str, list[Object]], None]
    """Kind, key and conditions, for metrics."""
    shown: AroMetrics
    """The metrics of these kinds."""


class AroReconciler:
    """Looks at the objects of one kind."""

    def __init__(self, kind: Kind, decide: Decide, parts: AroReconcilerDeps) -> None:
        self._kind = kind
        self._decide = decide
        self._parts = parts

    @property
    def _informer_cache(self) -> AroInformers:
        return self._parts.sources.informer_cache

    async def __call__(self, key: str) -> Result:
        """See Controller."""
        namespace, _, name = key.partition("/")
        made = ReconcileResult()
        first: Object | None = None
        for _ in range(_STEPS):
            obj = self._informer_cache.get(self._kind, namespace, name)
            if obj is None:
                self._parts.told(self._kind.kind, key, [])
                self._parts.shown.forget(self._kind.kind, key)
                return Reconciled(forget=True)
            first = first or obj
            view = CachedReader(self._parts.sources, self._parts.now())
            made = await self._decided(obj, view)
            try:
                if not await self._carried_out(obj, made, view):
                    break
            except errors.Conflict as error:
                return RequeueAfter(
                    _CONFLICT_SECONDS, str(error)
                )  # the watch tells what was written in between
            except errors.NotFound:
                break  # it went with our last write, or somebody was faster; the watch tells
        self._show(key, first or {}, self._informer_cache.get(self._kind, namespace, name), made)
        return _result(made)

    async def _decided(self, obj: Object, view: CachedReader) -> ReconcileResult:
        for _ in range(_QUESTIONS):
            try:
                return self._decide(obj, view)
            except NotRead as unread:
                await view.fetch(unread.question)
        raise errors.Unavailable(f"{self._kind.kind}: a decision asked for more than {_QUESTIONS} things")

    async def _carried_out(self, obj: Object, made: ReconcileResult, view: CachedReader) -> bool:
        """Whether something was written that a decision must see."""
        performer = self._parts.performer
        marked = await performer.marks(self._kind, obj, made)
        if marked is not None and made.finalizer is not False:
            return True  # what follows is decided with the marks
        obj = marked or obj
        try:
            wrote = await performer.inside(made)
        except ApplyFailures as error:
            await self._report_failures(obj, made, view, error)
            raise ReconcileFailed(str(error)) from error
        if wrote:
            return True
        obj = await performer.outside(self._kind, obj, made)
        await self._record(obj, made.events)
        return False

    async def _record(self, obj: Object, events: Iterable[ObjectEvent]) -> None:
        for one in events:
            severity: Literal["Normal", "Warning"] = "Warning" if one.warning else "Normal"
            await self._parts.events.tell(obj, one.reason, one.note, "Reconcile", severity)

    async def _report_failures(
        self, obj: Object, made: ReconcileResult, view: CachedReader, error: ApplyFailures
    ) -> None:
        """Writes that failed are in the conditions of the object, in ``status.resources`` and in Events."""
        failed = failed_status(obj, made, view, error.failures)
        obj = await self._parts.performer.outside(self._kind, obj, ReconcileResult(status=failed))
        events = [
            ObjectEvent(names.APPLY_FAILED, one.text, warning=True) for one in error.failures[:_MOST_EVENTS]
        ]
        await self._record(obj, [*(one for one in made.events if one.warning), *events])

    def _show(self, key: str, before: Object, after: Object | None, made: ReconcileResult) -> None:
        if after is None:
            return
        self._parts.told(self._kind.kind, key, (after.get("status") or {}).get("conditions") or [])
        self._parts.shown.reconciled(key, before, after, self._parts.now())
        if made.ends is not None:
            self._parts.shown.ends(key, made.ends)


def failed_status(
    obj: Object, made: ReconcileResult, reader: ClusterReader, failures: Sequence[Failure]
) -> Object | None:
    """The status of an object after writes that failed: conditions and ``status.resources``."""
    before = made.status or obj.get("status") or {}
    base = {**obj, "status": {**before, **_failed_resources(before, failures)}}
    return lifecycle.failed(base, reader, names.APPLY_FAILED, str(ApplyFailures(*failures))).status


def _failed_resources(status: Object, failures: Sequence[Failure]) -> Object:
    """``status.resources`` with the entries that could not be applied; empty where there are none."""
    texts: dict[tuple[Any, ...], str] = {
        (one.ref.group, one.ref.kind, one.ref.name): one.text for one in failures
    }
    listed = status.get("resources")
    if not isinstance(listed, list):
        return {}
    made = []
    for one in listed:
        found = embedded.value(one, "resource") or {}
        text = texts.get(tuple(found.get(key) for key in ("group", "kind", "name")))
        why = {"reason": names.APPLY_FAILED, "severity": "Error", "message": (text or "")[:_LONGEST_MESSAGE]}
        made.append(one if text is None else {**one, "ready": False, **why})
    return {"resources": made}


def _result(made: ReconcileResult) -> Result:
    if made.outcome == "error":
        if made.after is not None:
            return RequeueAfter(made.after, made.message)
        raise ReconcileFailed(made.message)
    if made.outcome == "terminal":
        return Terminal("Incompatible", made.message)
    if made.after is not None:
        return RequeueAfter(made.after, made.message or "waiting")
    return Reconciled()
