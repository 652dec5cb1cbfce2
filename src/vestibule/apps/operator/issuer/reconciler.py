"""One PublishedIssuer: the cluster's documents, what is published, status.

Nothing is removed with the object: somebody may trust what is published. A write carries the version that was
read, so two operators, or one and a person with ``vestibule oidc``, cannot lose each other's keys.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple, Protocol

from vestibule import errors
from vestibule.adapters.clouds.objectstore.ports import ObjectStore
from vestibule.adapters.cluster import pages, signing
from vestibule.adapters.cluster.client import Client
from vestibule.apps.operator.issuer import place, status
from vestibule.apps.operator.runtime import finalizers, statuses
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Deposed, Pen
from vestibule.apps.operator.runtime.result import Again, Done, Result
from vestibule.core.kinds import conditions, gvk, publishing
from vestibule.core.kinds.publishing import KIND, Publish
from vestibule.core.oidc import discovery, keeping

Object = dict[str, Any]
TIMEOUT_SECONDS: Final = 300.0
"""The libraries of the clouds try again by themselves."""
_SOON: Final = 15.0
"""Seconds after a fault."""


class Numbers(Protocol):
    """Who counts."""

    def published(self, name: str, keys: int) -> None:
        """All is as it should be."""
        ...

    def forget(self, name: str) -> None:
        """There is no such object any more."""
        ...


class Parts(NamedTuple):
    """What a reconciler works with."""

    client: Client
    pen: Pen
    events: Events
    numbers: Numbers
    told: Callable[[str, list[Object]], None]
    """Who shows conditions as metrics."""
    leading: Callable[[], bool]
    """Whether we may write to a place outside the cluster."""
    now: Callable[[], datetime.datetime]
    hosts: Collection[str] = ()
    """Other hosts than Azure's to which our login may be sent."""


class _Look(NamedTuple):
    """What one look came to."""

    fields: Object
    wrong: status.Problem | None = None
    added: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    due: float | None = None


class Reconciler:
    """Keeps every PublishedIssuer of one cluster."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stores: dict[str, tuple[str, ObjectStore]] = {}
        self._working: dict[str, asyncio.Task[place.Done]] = {}

    async def __call__(self, name: str) -> Result:
        """One look at one object."""
        parts = self._parts
        found = await pages.one(parts.client, gvk.PUBLISHED_ISSUER, "", name)
        if found is None or finalizers.deleting(found):
            self._stores.pop(name, None)
            parts.numbers.forget(name)
            parts.told(name, [])
            return Done(forget=True)
        spec: Publish | None = None
        try:
            spec = publishing.parse(found)
            look = _Look({}) if spec.paused else await self._look(found, name, spec)
        except Deposed:
            raise
        except errors.VestibuleError as error:
            look = _Look({}, status.problem(error))
            self._stores.pop(name, None)
        await self._report(found, look, paused=spec is not None and spec.paused)
        if spec is None or spec.paused:
            return Done()
        interval = publishing.seconds(spec.interval)
        if look.wrong is not None:
            return Again(min(interval, _SOON), look.wrong.reason)
        return Again(min(interval, look.due or interval), "Waiting")

    async def _look(self, found: Object, name: str, spec: Publish) -> _Look:
        parts = self._parts
        cluster = await signing.documents(parts.client.access)
        differs = discovery.difference(cluster.issuer, spec.issuer) if spec.issuer else ""
        if differs:
            text = f"is {spec.issuer!r}, and the cluster's issuer is {cluster.issuer!r}: {differs}"
            raise errors.InvalidInput(errors.Problem(f"{KIND} {name}", "spec.issuer", text))
        known = (found.get("status") or {}).get("keys")
        kids = [key.kid for key in cluster.keys]
        kept = keeping.kept(known, kids, publishing.seconds(spec.retention), parts.now())
        done = await self._published(
            name, spec, lambda store: place.publish(store, cluster.issuer, cluster.keys, kept.retire, spec)
        )
        fields = {"issuer": cluster.issuer, "where": done.plan.where, "keys": kept.keys}
        wrong = status.Problem("NotVisible", done.unseen) if done.unseen else None
        if wrong is None:
            parts.numbers.published(name, len(done.plan.kids))
        return _Look(fields, wrong, done.plan.added, done.plan.retired, kept.due)

    async def _published(
        self, name: str, spec: Publish, work: Callable[[ObjectStore], place.Done]
    ) -> place.Done:
        """In a thread of its own; a look that is cut leaves it, and none begins beside it."""
        if not self._parts.leading():
            raise Deposed(f"{KIND} {name}: leadership was lost before it was published")
        if name in self._working and not self._working[name].done():
            raise errors.Unavailable(f"{spec.to}: the call before has not ended yet")

        def run() -> place.Done:
            to, store = self._stores.get(name, ("", None))
            if store is None or to != spec.to:
                store = place.opened(name, spec, self._parts.hosts)
                self._stores[name] = (spec.to, store)
            return work(store)

        task = asyncio.create_task(asyncio.to_thread(run), name=f"publish {name}")
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        self._working[name] = task
        return await asyncio.shield(task)

    async def _report(self, found: Object, look: _Look, *, paused: bool) -> None:
        parts, meta = self._parts, found["metadata"]
        now = parts.now()
        before = (found.get("status") or {}).get("conditions")
        known = conditions.find(before, status.PUBLISHED) or {}
        failing_for = conditions.since(known, now) if known.get("status") == "False" else 0.0
        generation = int(meta.get("generation") or 0)
        told = status.conditions(look.wrong, failing_for, paused=paused)
        after = conditions.merged(before, told, now=now, generation=generation)
        fields = {"observedGeneration": generation, "conditions": after, **look.fields}
        await statuses.write(parts.pen, gvk.PUBLISHED_ISSUER, found, fields)
        name = str(meta["name"])
        parts.told(name, after)
        for reason, words, kids in (
            ("KeyPublished", "is published now", look.added),
            (
                "KeyRetired",
                "left the cluster long enough ago, and is not published any more",
                look.retired,
            ),
        ):
            for kid in kids:
                await parts.events.tell(found, reason, f"key {kid} {words}", "Publish")
        for kid in _left(look.fields) - _left(found.get("status") or {}):
            note = f"key {kid} is not the cluster's any more; it stays published while its tokens may live"
            await parts.events.tell(found, "KeyLeft", note, "Publish")
        for one in conditions.changed(before, after, status.PUBLISHED):
            if one["status"] == "False":
                await parts.events.tell(found, one["reason"], one["message"], "Publish", "Warning")
            elif before:
                await parts.events.tell(found, "Published", "all is as it should be", "Publish")


def _left(fields: Object) -> set[str]:
    return {str(one["kid"]) for one in fields.get("keys") or () if one.get("left")}
