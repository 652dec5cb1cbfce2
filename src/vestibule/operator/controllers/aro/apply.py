"""Carries out what a decision came to: in its order, and only what differs from what is there.

What we applied last is what the API server says that we own, so that a field that left the spec is taken
back as well, and a process that starts writes nothing where nothing differs.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import msgspec

from vestibule import errors
from vestibule.api.aso import PermittedKinds
from vestibule.api.gvk import Kind
from vestibule.aro import embedded, managed_fields, names
from vestibule.aro.embedded import Gvk
from vestibule.aro.ports import MergePatch, Object, ObjectRef, ReconcileResult
from vestibule.kube import api_requests, lister
from vestibule.kube.client import Client
from vestibule.kube.discovery import Discovery
from vestibule.manifests.kinds import SECRET
from vestibule.operator import drift
from vestibule.operator.controllers.aro.informers import AroInformers
from vestibule.operator.fenced_client import FencedClient, LeadershipLost

_MOVABLE: Final = (names.BLOCK_MOVE, None)
"""Lets clusterctl move: only when Azure Service Operator leaves alone what is moved."""


_SLOW_SECONDS: Final = 5.0
"""A write that fails after more than that is tried after all others in the next reconcile."""
_WRITE_SECONDS: Final = 40.0
"""For all writes of one reconcile, which ends after 60: the conditions are still to be written."""


class Failure(NamedTuple):
    """One object that could not be written."""

    ref: ObjectRef
    text: str
    """With the words of the API server."""


class ApplyFailures(errors.VestibuleError):
    """Writes that failed, all of them."""

    def __init__(self, *failures: Failure) -> None:
        self.failures = failures
        super().__init__("; ".join(one.text for one in failures))


class _Write(NamedTuple):
    ref: ObjectRef
    send: Callable[[], Awaitable[bool]]
    """Whether something was written."""


class AroApplier:
    """Writes for all ARO objects of a cluster."""

    def __init__(
        self,
        reading: Client,
        writer: FencedClient,
        informer_cache: AroInformers,
        discovery: Discovery,
        permitted: PermittedKinds,
    ) -> None:
        self._client = reading
        self._writer = writer
        self._informer_cache = informer_cache
        self._discovery = discovery
        self._permitted = permitted
        self._slow: set[ObjectRef] = set()
        """Objects whose last write failed after a long time."""

    async def marks(self, kind: Kind, obj: Object, made: ReconcileResult) -> Object | None:
        """Finalizer and annotations on the subject; the subject as it is then, None when nothing changed."""
        meta = obj["metadata"]
        patch: Object = {}
        held = meta.get("finalizers") or []
        finalizer = names.FINALIZERS[kind.kind]
        if made.finalizer and finalizer not in held:
            patch["finalizers"] = [*held, finalizer]
        before = meta.get("annotations") or {}
        changed = {
            key: value
            for key, value in made.annotations.items()
            if before.get(key) != value and (key, value) != _MOVABLE
        }
        if changed:
            patch["annotations"] = changed
        return await self._own(kind, obj, {"metadata": patch}) if patch else None

    async def inside(self, made: ReconcileResult) -> list[ObjectRef]:
        """Embedded objects, others' objects and Secrets; what was written. A write that fails, for whatever
        reason, is a failure of that object and holds up no other; raises ApplyFailures at the end. An object
        whose change failed is not deleted: Azure Service Operator would leave its resource in Azure. Raises
        LeadershipLost at once."""
        wrote: list[ObjectRef] = []
        failures: list[Failure] = []
        conflict: errors.Conflict | None = None
        unchanged: set[ObjectRef] = set()
        until = asyncio.get_running_loop().time() + _WRITE_SECONDS
        changes = [_Write(one.ref, functools.partial(self._changed, one)) for one in made.changes]
        applied = [
            _Write(_ref(one), functools.partial(self._apply, one)) for one in (*made.desired, *made.secrets)
        ]
        deletions = [_Write(_ref(one), functools.partial(self._delete, one)) for one in made.deletions]
        for group in (changes, applied, deletions):
            for one in sorted(group, key=lambda each: each.ref in self._slow):
                if group is deletions and one.ref in unchanged:
                    continue
                try:
                    if await self._timed(one, until):
                        wrote.append(one.ref)
                    continue
                except LeadershipLost:
                    raise
                except errors.Conflict as error:
                    conflict = error
                except errors.VestibuleError as error:
                    failures.append(Failure(one.ref, str(error)))
                if group is changes:
                    unchanged.add(one.ref)
        if failures:
            raise ApplyFailures(*failures)
        if conflict is not None:
            raise conflict
        return wrote

    async def _timed(self, write: _Write, until: float) -> bool:
        """Send one write, unless the time for all of them is over."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        if began > until:
            text = f"{write.ref} was not written: the writes before it took {_WRITE_SECONDS:g} s"
            raise errors.Unavailable(text)
        self._slow.discard(write.ref)
        try:
            return await write.send()
        except errors.VestibuleError:
            if loop.time() - began > _SLOW_SECONDS:
                self._slow.add(write.ref)
            raise

    async def outside(self, kind: Kind, obj: Object, made: ReconcileResult) -> Object:
        """The subject's own spec and status, and at the very end its finalizer."""
        if made.spec:
            obj = await self._own(kind, obj, {"spec": made.spec})
        if _MOVABLE in made.annotations.items():
            obj = await self._own(kind, obj, {"metadata": {"annotations": dict([_MOVABLE])}})
        if made.status is not None:
            patch = _merge_patch(obj.get("status") or {}, made.status)
            if patch:
                obj = await self._own(kind, obj, {"status": patch}, "status")
        finalizer = names.FINALIZERS[kind.kind]
        held = obj["metadata"].get("finalizers") or []
        if made.finalizer is False and finalizer in held:
            left = [one for one in held if one != finalizer]
            obj = await self._own(kind, obj, {"metadata": {"finalizers": left}})
            if not left and obj["metadata"].get("deletionTimestamp"):
                self._informer_cache.went(kind, obj)
        return obj

    async def _own(self, kind: Kind, obj: Object, patch: Object, sub: str = "") -> Object:
        """A merge patch of the subject, refused when somebody wrote in between."""
        meta = obj["metadata"]
        given = {"resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}
        patch = {**patch, "metadata": {**(patch.get("metadata") or {}), **given}}
        call = api_requests.merge_patch(kind, str(meta["namespace"]), meta["name"], patch, sub)
        answer = await self._writer.send(
            call, kind, f"writing {kind.kind} {meta['namespace']}/{meta['name']}"
        )
        return self._noted(kind, answer.body)

    async def _changed(self, change: MergePatch) -> bool:
        ref = change.ref
        kind = await self._kind(Gvk(ref.group, ref.version, ref.kind))
        live = await self._live(kind, ref.namespace, ref.name)
        if live is not None and not _difference_of(live, change.patch):
            return False
        call = api_requests.merge_patch(kind, ref.namespace, ref.name, change.patch)
        answer = await self._writer.send(call, kind, f"changing {ref}")
        self._noted(kind, answer.body)
        return True

    async def _apply(self, one: Object) -> bool:
        """What was decided about an object that was there is sent for that very object; what was decided for
        one that was not there is not forced onto one that came meanwhile."""
        kind = await self._kind(embedded.of(one))
        meta = one["metadata"]
        namespace, name = str(meta.get("namespace") or ""), str(meta["name"])
        if not (kind is SECRET or self._permitted.find(kind.group, kind.kind)) or not kind.namespaced:
            raise errors.Forbidden(f"{kind.kind}.{kind.group} {name} may not be embedded: it is not applied")
        live = await self._live(kind, namespace, name)
        if live is not None and live["metadata"].get("uid") != meta.get("uid"):
            raise errors.Conflict(f"{kind.kind} {namespace}/{name} is another one by now")
        if live is not None and not (
            drift.first(one, _comparable(live, one)) or managed_fields.stale(live, one, names.MANAGER)
        ):
            return False
        call = api_requests.apply(kind, one, field_manager=names.MANAGER, force=live is not None)
        try:
            answer = await self._writer.send(call, kind, f"applying {kind.kind} {namespace}/{name}")
        except errors.NotFound:
            self._discovery.forget(kind)  # its definition may have gone: the next look asks
            raise
        after = self._noted(kind, answer.body)
        before = str(live["metadata"].get("resourceVersion")) if live is not None else ""
        return str(after["metadata"].get("resourceVersion")) != before

    async def _delete(self, one: Object) -> bool:
        kind = await self._kind(embedded.of(one))
        meta = one["metadata"]
        call = api_requests.delete(kind, str(meta.get("namespace") or ""), meta["name"], uid=meta["uid"])
        answer = await self._writer.send(call, kind, f"deleting {kind.kind} {meta['name']}", 202, 404, 409)
        if answer.status < 300 and _is_object(answer.body, kind):
            self._noted(kind, answer.body)
        return True

    async def _kind(self, gvk: Gvk) -> Kind:
        found = await self._discovery.find(*gvk)
        if found is None:
            raise errors.NotFound(f"the cluster does not serve {gvk}")
        return found

    async def _live(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """What is there: as we see it, or asked for where we do not listen."""
        if self._informer_cache.kind(Gvk(kind.group, kind.version, kind.kind)) is None:
            return await lister.one(self._client, kind, namespace, name)
        return self._informer_cache.get(kind, namespace, name)

    def _noted(self, kind: Kind, body: bytes) -> Object:
        written = msgspec.json.decode(body, type=dict[str, Any])
        self._informer_cache.wrote(kind, written)
        return written


def _is_object(body: bytes, kind: Kind) -> bool:
    """Whether a deletion was answered with what is going; what went at once is answered with a Status."""
    return bool(msgspec.json.decode(body, type=dict[str, Any]).get("kind") == kind.kind)


def _comparable(live: Object, wanted: Object) -> Object:
    """The live object without the owners that others gave it: Azure Service Operator adds its own."""
    meta = live["metadata"]
    ours = {one.get("uid") for one in wanted["metadata"].get("ownerReferences") or ()}
    owners = [one for one in meta.get("ownerReferences") or () if one.get("uid") in ours]
    return {**live, "metadata": {**meta, "ownerReferences": owners}}


def _ref(one: Object) -> ObjectRef:
    what, meta = embedded.of(one), one["metadata"]
    return ObjectRef(what.group, what.kind, str(meta.get("namespace") or ""), meta["name"], what.version)


def _merge_patch(before: Object, after: Object) -> Object:
    """The merge patch that makes one of the other; a field that is gone becomes null. False is not written
    where nothing was: the kinds differ in whether they store it."""
    patch: Object = {}
    for key in {*before, *after}:
        old, new = before.get(key), after.get(key)
        if new is None:
            if key in before:
                patch[key] = None
        elif isinstance(old, dict) and isinstance(new, dict):
            inner = _merge_patch(old, new)
            if inner:
                patch[key] = inner
        elif old != new and not (key not in before and new in ({}, [])):
            patch[key] = new
    return patch


def _difference_of(live: Object, patch: Object) -> bool:
    """Whether a merge patch would change anything."""
    for key, value in patch.items():
        found = live.get(key)
        if isinstance(value, dict):
            if _difference_of(found if isinstance(found, dict) else {}, value):
                return True
        elif found != value:
            return True
    return False
