"""One look at an ARO object: decide, ask for what the decision needs, carry it out, until it stands.

What was written is looked at again in the same look, so that a status never speaks of a state before our own
writes, and a chain of steps takes no pauses between them.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from vestibule import errors
from vestibule.adapters.observe.clusters import Clusters
from vestibule.apps.operator.aro.perform import Failures, Performer
from vestibule.apps.operator.aro.sight import Sight
from vestibule.apps.operator.aro.view import Sources, View
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.result import Again, Done, Result, Stalled
from vestibule.core.aro import subject
from vestibule.core.aro.world import Object, Pass, Unread, World
from vestibule.core.kinds.gvk import Kind

logger = logging.getLogger(__name__)
Decide = Callable[[Object, World], Pass]
_QUESTIONS: Final = 64
"""Things that one decision may ask for: a bound against a decision that asks for ever."""
_CONFLICT_SECONDS: Final = 0.2
_STEPS: Final = 8
"""Passes of one look; a chain has fewer."""


class Failed(errors.VestibuleError):
    """The look ended in an error that its object tells; it is tried again."""


class Parts(NamedTuple):
    """What a reconciler works with."""

    sources: Sources
    performer: Performer
    events: Events
    now: Callable[[], datetime.datetime]
    told: Callable[[str, str, list[Object]], None]
    """Kind, key and conditions, for metrics."""
    shown: Clusters
    """The metrics of these kinds."""


class Reconciler:
    """Looks at the objects of one kind."""

    def __init__(self, kind: Kind, decide: Decide, parts: Parts) -> None:
        self._kind = kind
        self._decide = decide
        self._parts = parts

    @property
    def _sight(self) -> Sight:
        return self._parts.sources.sight

    async def __call__(self, key: str) -> Result:
        """See Controller."""
        namespace, _, name = key.partition("/")
        made = Pass()
        first: Object | None = None
        for _ in range(_STEPS):
            obj = self._sight.get(self._kind, namespace, name)
            if obj is None:
                self._parts.told(self._kind.kind, key, [])
                self._parts.shown.forget(self._kind.kind, key)
                return Done(forget=True)
            first = first or obj
            view = View(self._parts.sources, self._parts.now())
            made = await self._decided(obj, view)
            try:
                if not await self._carried_out(obj, made, view):
                    break
            except errors.Conflict as error:
                return Again(_CONFLICT_SECONDS, str(error))  # the watch tells what was written in between
            except errors.NotFound:
                break  # it went with our last write, or somebody was faster; the watch tells
        self._show(key, first or {}, self._sight.get(self._kind, namespace, name), made)
        return _result(made)

    async def _decided(self, obj: Object, view: View) -> Pass:
        for _ in range(_QUESTIONS):
            try:
                return self._decide(obj, view)
            except Unread as unread:
                await view.fetch(unread.question)
        raise errors.Unavailable(f"{self._kind.kind}: a decision asked for more than {_QUESTIONS} things")

    async def _carried_out(self, obj: Object, made: Pass, view: View) -> bool:
        """Whether something was written that a decision must see."""
        performer = self._parts.performer
        marked = await performer.marks(self._kind, obj, made)
        if marked is not None and made.finalizer is not False:
            return True  # what follows is decided with the marks
        obj = marked or obj
        try:
            wrote = await performer.inside(made)
        except (Failures, errors.InvalidInput, errors.Forbidden, errors.NotFound) as error:
            await self._tell_failure(obj, made, view, error)
            raise Failed(str(error)) from error
        if wrote:
            return True
        obj = await performer.outside(self._kind, obj, made)
        for one in made.events:
            await self._parts.events.tell(
                obj, one.reason, one.note, "Reconcile", "Warning" if one.warning else "Normal"
            )
        return False

    async def _tell_failure(self, obj: Object, made: Pass, view: View, error: Exception) -> None:
        """What the API server refused stands in the object's conditions."""
        base = {**obj, "status": made.status or obj.get("status") or {}}
        told = subject.failed(base, view, "ApplyFailed", str(error))
        await self._parts.performer.outside(self._kind, obj, Pass(status=told.status))

    def _show(self, key: str, before: Object, after: Object | None, made: Pass) -> None:
        if after is None:
            return
        self._parts.told(self._kind.kind, key, (after.get("status") or {}).get("conditions") or [])
        self._parts.shown.looked(key, before, after, self._parts.now())
        if made.ends is not None:
            self._parts.shown.ends(key, made.ends)


def _result(made: Pass) -> Result:
    if made.outcome == "error":
        if made.after is not None:
            return Again(made.after, made.message)
        raise Failed(made.message)
    if made.outcome == "terminal":
        return Stalled("Incompatible", made.message)
    if made.after is not None:
        return Again(made.after, made.message or "waiting")
    return Done()
