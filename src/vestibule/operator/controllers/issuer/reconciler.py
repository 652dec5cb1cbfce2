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
from vestibule.api import conditions, gvk, publishedissuer
from vestibule.api.publishedissuer import KIND, PublishedIssuerSpec
from vestibule.clouds.objectstore.ports import ObjectStore
from vestibule.kube import lister, serviceaccount_issuer
from vestibule.kube.client import Client
from vestibule.oidc import discovery, key_retention
from vestibule.operator import finalizers, status_writer
from vestibule.operator.controllers.issuer import publisher, status
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import FencedClient, LeadershipLost
from vestibule.operator.result import Reconciled, RequeueAfter, Result

Object = dict[str, Any]
TIMEOUT_SECONDS: Final = 300.0
"""The libraries of the clouds try again by themselves."""
_SOON: Final = 15.0
"""Seconds after a fault."""


class IssuerMetricsSink(Protocol):
    """Who counts."""

    def published(self, name: str, keys: int) -> None:
        """All is as it should be."""
        ...

    def forget(self, name: str) -> None:
        """There is no such object any more."""
        ...


class IssuerReconcilerDeps(NamedTuple):
    """What a reconciler works with."""

    client: Client
    writer: FencedClient
    events: Events
    numbers: IssuerMetricsSink
    told: Callable[[str, list[Object]], None]
    """Who shows conditions as metrics."""
    leading: Callable[[], bool]
    """Whether we may write to a place outside the cluster."""
    now: Callable[[], datetime.datetime]
    hosts: Collection[str] = ()
    """Other hosts than Azure's to which our login may be sent."""


class _IssuerObservation(NamedTuple):
    """What one look came to."""

    fields: Object
    wrong: status.IssuerProblem | None = None
    added: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    due: float | None = None


class IssuerReconciler:
    """Keeps every PublishedIssuer of one cluster."""

    def __init__(self, parts: IssuerReconcilerDeps) -> None:
        self._parts = parts
        self._stores: dict[str, tuple[str, ObjectStore]] = {}
        self._working: dict[str, asyncio.Task[publisher.PublishResult]] = {}

    async def __call__(self, name: str) -> Result:
        """One look at one object."""
        parts = self._parts
        found = await lister.one(parts.client, gvk.PUBLISHED_ISSUER, "", name)
        if found is None or finalizers.deleting(found):
            self._stores.pop(name, None)
            parts.numbers.forget(name)
            parts.told(name, [])
            return Reconciled(forget=True)
        spec: PublishedIssuerSpec | None = None
        try:
            spec = publishedissuer.parse(found)
            look = _IssuerObservation({}) if spec.paused else await self._look(found, name, spec)
        except LeadershipLost:
            raise
        except errors.VestibuleError as error:
            look = _IssuerObservation({}, status.problem(error))
            self._stores.pop(name, None)
        await self._report(found, look, paused=spec is not None and spec.paused)
        if spec is None or spec.paused:
            return Reconciled()
        interval = publishedissuer.seconds(spec.interval)
        if look.wrong is not None:
            return RequeueAfter(min(interval, _SOON), look.wrong.reason)
        return RequeueAfter(min(interval, look.due or interval), "Waiting")

    async def _look(self, found: Object, name: str, spec: PublishedIssuerSpec) -> _IssuerObservation:
        parts = self._parts
        cluster = await serviceaccount_issuer.documents(parts.client.access)
        differs = discovery.issuer_mismatch(cluster.issuer, spec.issuer) if spec.issuer else ""
        if differs:
            text = f"is {spec.issuer!r}, and the cluster's issuer is {cluster.issuer!r}: {differs}"
            raise errors.InvalidInput(errors.InputProblem(f"{KIND} {name}", "spec.issuer", text))
        known = (found.get("status") or {}).get("keys")
        kids = [key.kid for key in cluster.keys]
        kept = key_retention.retain(known, kids, publishedissuer.seconds(spec.retention), parts.now())
        done = await self._published(
            name,
            spec,
            lambda store: publisher.publish(store, cluster.issuer, cluster.keys, kept.retire, spec),
        )
        fields = {"issuer": cluster.issuer, "where": done.plan.where, "keys": kept.keys}
        wrong = status.IssuerProblem("NotVisible", done.unseen) if done.unseen else None
        if wrong is None:
            parts.numbers.published(name, len(done.plan.kids))
        return _IssuerObservation(fields, wrong, done.plan.added, done.plan.retired, kept.due)

    async def _published(
        self, name: str, spec: PublishedIssuerSpec, work: Callable[[ObjectStore], publisher.PublishResult]
    ) -> publisher.PublishResult:
        """In a thread of its own; a look that is cut leaves it, and none begins beside it."""
        if not self._parts.leading():
            raise LeadershipLost(f"{KIND} {name}: leadership was lost before it was published")
        if name in self._working and not self._working[name].done():
            raise errors.Unavailable(f"{spec.to}: the call before has not ended yet")

        def run() -> publisher.PublishResult:
            to, store = self._stores.get(name, ("", None))
            if store is None or to != spec.to:
                store = publisher.opened(name, spec, self._parts.hosts)
                self._stores[name] = (spec.to, store)
            return work(store)

        task = asyncio.create_task(asyncio.to_thread(run), name=f"publish {name}")
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        self._working[name] = task
        return await asyncio.shield(task)

    async def _report(self, found: Object, look: _IssuerObservation, *, paused: bool) -> None:
        parts, meta = self._parts, found["metadata"]
        now = parts.now()
        before = (found.get("status") or {}).get("conditions")
        known = conditions.find(before, status.PUBLISHED) or {}
        failing_for = conditions.since(known, now) if known.get("status") == "False" else 0.0
        generation = int(meta.get("generation") or 0)
        told = status.conditions(look.wrong, failing_for, paused=paused)
        after = conditions.merged(before, told, now=now, generation=generation, ready=(status.PUBLISHED,))
        fields = {"observedGeneration": generation, "conditions": after, **look.fields}
        await status_writer.write(parts.writer, gvk.PUBLISHED_ISSUER, found, fields)
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
