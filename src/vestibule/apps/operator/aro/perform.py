"""Carries out what a decision came to: in its order, and only what differs from what is there.

What we applied last is what the API server says that we own, so that a field that left the spec is taken
back as well, and a process that starts writes nothing where nothing differs.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestibule import errors
from vestibule.adapters.cluster import calls, pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.discovery import Discovery
from vestibule.apps.operator.aro.sight import Sight
from vestibule.apps.operator.runtime import difference
from vestibule.apps.operator.runtime.pen import Pen
from vestibule.core.aro import embedded, fields, names
from vestibule.core.aro.embedded import Gvk
from vestibule.core.aro.world import Change, Object, Pass, Ref
from vestibule.core.kinds.asokinds import Permitted
from vestibule.core.kinds.gvk import Kind
from vestibule.core.native.kinds import SECRET

_MOVABLE: Final = (names.BLOCK_MOVE, None)
"""Lets clusterctl move: only when Azure Service Operator leaves alone what is moved."""


class Failures(errors.VestibuleError):
    """What the API server refused, all of it."""


class Performer:
    """Writes for all ARO objects of a cluster."""

    def __init__(
        self, reading: Client, pen: Pen, sight: Sight, discovery: Discovery, permitted: Permitted
    ) -> None:
        self._client = reading
        self._pen = pen
        self._sight = sight
        self._discovery = discovery
        self._permitted = permitted

    async def marks(self, kind: Kind, obj: Object, made: Pass) -> Object | None:
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

    async def inside(self, made: Pass) -> list[Ref]:
        """Embedded objects, others' objects and Secrets; what was written. One that the API server refuses
        keeps no other from being written; raises Failures at the end."""
        wrote: list[Ref] = []
        failures: list[errors.VestibuleError] = []
        conflict: errors.Conflict | None = None
        for change in made.changes:
            if await self._changed(change):
                wrote.append(change.ref)
        for one in (*made.desired, *made.secrets):
            try:
                if await self._apply(one):
                    wrote.append(_ref(one))
            except (errors.InvalidInput, errors.Forbidden, errors.NotFound) as error:
                failures.append(error)
            except errors.Conflict as error:
                conflict = error
        for one in made.deletions:
            try:
                await self._delete(one)
                wrote.append(_ref(one))
            except (errors.Forbidden, errors.NotFound) as error:
                failures.append(error)
        if failures:
            raise Failures("; ".join(map(str, failures)))
        if conflict is not None:
            raise conflict
        return wrote

    async def outside(self, kind: Kind, obj: Object, made: Pass) -> Object:
        """The subject's own spec and status, and at the very end its finalizer."""
        if made.spec:
            obj = await self._own(kind, obj, {"spec": made.spec})
        if _MOVABLE in made.annotations.items():
            obj = await self._own(kind, obj, {"metadata": {"annotations": dict([_MOVABLE])}})
        if made.status is not None:
            patch = _difference(obj.get("status") or {}, made.status)
            if patch:
                obj = await self._own(kind, obj, {"status": patch}, "status")
        finalizer = names.FINALIZERS[kind.kind]
        held = obj["metadata"].get("finalizers") or []
        if made.finalizer is False and finalizer in held:
            left = [one for one in held if one != finalizer]
            obj = await self._own(kind, obj, {"metadata": {"finalizers": left}})
            if not left and obj["metadata"].get("deletionTimestamp"):
                self._sight.went(kind, obj)
        return obj

    async def _own(self, kind: Kind, obj: Object, patch: Object, sub: str = "") -> Object:
        """A merge patch of the subject, refused when somebody wrote in between."""
        meta = obj["metadata"]
        given = {"resourceVersion": meta["resourceVersion"], "uid": meta["uid"]}
        patch = {**patch, "metadata": {**(patch.get("metadata") or {}), **given}}
        call = calls.merge_patch(kind, str(meta["namespace"]), meta["name"], patch, sub)
        answer = await self._pen.send(call, kind, f"writing {kind.kind} {meta['namespace']}/{meta['name']}")
        return self._noted(kind, answer.body)

    async def _changed(self, change: Change) -> bool:
        ref = change.ref
        kind = await self._kind(Gvk(ref.group, ref.version, ref.kind))
        live = await self._live(kind, ref.namespace, ref.name)
        if live is not None and not _difference_of(live, change.patch):
            return False
        call = calls.merge_patch(kind, ref.namespace, ref.name, change.patch)
        answer = await self._pen.send(call, kind, f"changing {ref}")
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
            difference.first(one, _comparable(live, one)) or fields.stale(live, one, names.MANAGER)
        ):
            return False
        call = calls.apply(kind, one, field_manager=names.MANAGER, force=live is not None)
        try:
            answer = await self._pen.send(call, kind, f"applying {kind.kind} {namespace}/{name}")
        except errors.NotFound:
            self._discovery.forget(kind)  # its definition may have gone: the next look asks
            raise
        after = self._noted(kind, answer.body)
        before = str(live["metadata"].get("resourceVersion")) if live is not None else ""
        return str(after["metadata"].get("resourceVersion")) != before

    async def _delete(self, one: Object) -> None:
        kind = await self._kind(embedded.of(one))
        meta = one["metadata"]
        call = calls.delete(kind, str(meta.get("namespace") or ""), meta["name"], uid=meta["uid"])
        answer = await self._pen.send(call, kind, f"deleting {kind.kind} {meta['name']}", 202, 404, 409)
        if answer.status < 300 and _is_object(answer.body, kind):
            self._noted(kind, answer.body)

    async def _kind(self, gvk: Gvk) -> Kind:
        found = await self._discovery.find(*gvk)
        if found is None:
            raise errors.NotFound(f"the cluster does not serve {gvk}")
        return found

    async def _live(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """What is there: as we see it, or asked for where we do not listen."""
        if self._sight.kind(Gvk(kind.group, kind.version, kind.kind)) is None:
            return await pages.one(self._client, kind, namespace, name)
        return self._sight.get(kind, namespace, name)

    def _noted(self, kind: Kind, body: bytes) -> Object:
        written = msgspec.json.decode(body, type=dict[str, Any])
        self._sight.wrote(kind, written)
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


def _ref(one: Object) -> Ref:
    what, meta = embedded.of(one), one["metadata"]
    return Ref(what.group, what.kind, str(meta.get("namespace") or ""), meta["name"], what.version)


def _difference(before: Object, after: Object) -> Object:
    """The merge patch that makes one of the other; a field that is gone becomes null. False is not written
    where nothing was: the kinds differ in whether they store it."""
    patch: Object = {}
    for key in {*before, *after}:
        old, new = before.get(key), after.get(key)
        if new is None:
            if key in before:
                patch[key] = None
        elif isinstance(old, dict) and isinstance(new, dict):
            inner = _difference(old, new)
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
