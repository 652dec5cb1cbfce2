"""A cluster that lives in memory: all four roles of ``ports`` over plain decoded objects, for tests and as
the store behind a directory of manifests.

It can be told to fail like an API server does (``fault``). Kinds outside ``gvk.KNOWN`` are ignored, as if
nobody watched them. Objects are copied on their way in and out; nobody can reach inside.
"""

from __future__ import annotations

import copy
import fnmatch
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.injection import facts
from vestibule.injection.facts import SourceObject
from vestibule.kube import manifest_object, memory_apply
from vestibule.kube.manifest_object import ObjectKey
from vestibule.kube.ports import UNKNOWN, Unknown, WatchEvent


class _InjectedFault(NamedTuple):
    verb: str
    plural: str
    name: str
    status: int


class _StoredEntry(NamedTuple):
    object: dict[str, Any]
    source: SourceObject
    owners: memory_apply.Owners


class MemoryCluster:
    """Fulfils Reader, Cache, Watcher and Writer."""

    synced = True

    def __init__(self, objects: Iterable[Mapping[str, Any]] = ()) -> None:
        self._entries: dict[ObjectKey, _StoredEntry] = {}
        self._sources: dict[tuple[Kind, str, str], SourceObject] = {}
        """The sources of the entries by themselves: one lookup on the way of every pod."""
        self._callbacks: list[Callable[[WatchEvent], None]] = []
        self._faults: list[_InjectedFault] = []
        self.applied: list[dict[str, Any]] = []
        """What was applied, as it was sent, in order."""
        self.replace_all(objects)

    # ── contents ────────────────────────────────────────────────────────────────────────────────────────────

    def put(self, obj: Mapping[str, Any], *, field_manager: str = "user") -> None:
        """Create or overwrite one object, as a plain update by this manager would."""
        event = self._store(obj, field_manager)
        self._tell([event] if event else [])

    def remove(self, kind: Kind, namespace: str, name: str) -> None:
        """Delete one object; one that does not exist is gone already."""
        entry = self._pop(manifest_object.key(kind, namespace, name))
        self._tell([WatchEvent("deleted", kind, entry.source)] if entry else [])

    def replace_all(self, new: Iterable[Mapping[str, Any]]) -> None:
        """Make the cluster hold these objects and no others; what really changed is told as events.

        Of two objects with one key the last one counts. Events come after the whole change: who reads back
        in a callback sees the new state.
        """
        wanted = {key: obj for obj in new if (key := manifest_object.key_of(obj)) is not None}
        gone = [
            WatchEvent("deleted", key.kind, entry.source)
            for key in [*self._entries]
            if key not in wanted and (entry := self._pop(key))
        ]
        changed = [event for obj in wanted.values() if (event := self._store(obj, "user"))]
        self._tell([*gone, *changed])

    def object(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """The whole object, or None."""
        entry = self._entries.get(manifest_object.key(kind, namespace, name))
        return copy.deepcopy(entry.object) if entry else None

    def objects(self, kind: Kind) -> list[dict[str, Any]]:
        """All objects of a kind, by namespace and name."""
        keys = sorted((key for key in self._entries if key.kind == kind), key=lambda key: key[1:])
        return [copy.deepcopy(self._entries[key].object) for key in keys]

    def _store(self, obj: Mapping[str, Any], manager: str) -> WatchEvent | None:
        key = manifest_object.key_of(obj)
        if key is None:
            return None
        new = manifest_object.placed(obj, key)
        before = self._entries.get(key)
        live, owners = (before.object, before.owners) if before else ({}, {})
        return self._keep(key, new, memory_apply.replaced(live, owners, new, manager))

    def _pop(self, key: ObjectKey) -> _StoredEntry | None:
        self._sources.pop(key, None)
        return self._entries.pop(key, None)

    def _keep(self, key: ObjectKey, obj: dict[str, Any], owners: memory_apply.Owners) -> WatchEvent | None:
        """Hold the object; the event to tell, if the object changed at all."""
        before = self._entries.get(key)
        self._entries[key] = entry = _StoredEntry(obj, facts.source(obj), owners)
        self._sources[key] = entry.source
        if before is None:
            return WatchEvent("added", key.kind, entry.source)
        return WatchEvent("modified", key.kind, entry.source) if before.object != obj else None

    async def close(self) -> None:
        """Nothing is held open."""

    # ── Reader, Cache, Watcher, Writer ──────────────────────────────────────────────────────────────────────

    async def get(self, kind: Kind, namespace: str, name: str) -> SourceObject | None:
        """See Reader."""
        key = manifest_object.key(kind, namespace, name)
        status = self._status("GET", key)
        if status == 403:
            raise errors.Forbidden(f"reading {key} is forbidden (injected fault)")
        if status:
            raise errors.LookupFailed(str(key), f"status {status} (injected fault)")
        entry = self._entries.get(key)
        return entry.source if entry else None

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> SourceObject | None | Unknown:
        """See Cache; an object with a fault is UNKNOWN, so that a Reader is asked and meets the fault."""
        if self._faults and self._status("GET", manifest_object.key(kind, namespace, name)):
            return UNKNOWN
        found = self._sources.get((kind, namespace, name))
        return found if found is not None else self._sources.get(manifest_object.key(kind, namespace, name))

    async def fetch(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """See ObjectLister."""
        await self.get(kind, namespace, name)  # meets the faults
        return self.object(kind, namespace, name)

    async def listing(self, kind: Kind) -> list[dict[str, Any]]:
        """See ObjectLister."""
        return self.objects(kind)

    async def version(self) -> str:
        """See ObjectLister."""
        return ""

    def subscribe(self, callback: Callable[[WatchEvent], None]) -> Callable[[], None]:
        """See Watcher; the returned function may be called twice."""
        self._callbacks.append(callback)

        def unsubscribe() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return unsubscribe

    async def apply(self, obj: Mapping[str, Any], *, field_manager: str, force: bool = False) -> None:
        """See Writer. Raises InvalidInput for a kind that we do not write, or an object without a name."""
        key = manifest_object.key_of(obj)
        if key is None:
            what = f"{manifest_object.shown(obj.get('apiVersion'))} {manifest_object.shown(obj.get('kind'))}"
            raise errors.InvalidInput(
                errors.InputProblem(what, "", "cannot be applied, want a known kind with a name")
            )
        self._fail_write(key, force)
        before = self._entries.get(key)
        live, owners = (before.object, before.owners) if before else ({}, {})
        held = memory_apply.conflicts(live, owners, obj, field_manager)
        if held and not force:
            fields = ", ".join(
                f"{manifest_object.field(path)} (owned by {owner})" for path, owner in held.items()
            )
            raise errors.Conflict(f"applying {key} as {field_manager} conflicts over {fields}")
        self.applied.append(copy.deepcopy(dict(obj)))
        result, owners = memory_apply.applied(live, owners, obj, field_manager)
        event = self._keep(key, manifest_object.placed(result, key), owners)
        self._tell([event] if event else [])

    def _tell(self, events: Iterable[WatchEvent]) -> None:
        for event in events:
            for callback in tuple(self._callbacks):
                callback(event)

    # ── faults ──────────────────────────────────────────────────────────────────────────────────────────────

    def fault(self, verb: str, plural: str, name: str, status: int) -> None:
        """Answer this verb (GET, PATCH) on these objects (name or glob, any namespace) with this status."""
        self._faults.append(_InjectedFault(verb, plural, name, status))

    def heal(self) -> None:
        """Forget all faults."""
        self._faults.clear()

    def _status(self, verb: str, key: ObjectKey) -> int:
        """The status to fail with; 0 when all is well."""
        for fault in self._faults:
            if (fault.verb, fault.plural) == (verb, key.kind.plural) and fnmatch.fnmatchcase(
                key.name, fault.name
            ):
                return fault.status
        return 0

    def _fail_write(self, key: ObjectKey, force: bool) -> None:
        status = self._status("PATCH", key)
        if status == 403:
            raise errors.Forbidden(f"applying {key} is forbidden (injected fault)")
        if status == 409 and not force:
            raise errors.Conflict(f"applying {key} conflicts with another field manager (injected fault)")
        if status:
            raise errors.Unavailable(f"applying {key} failed: status {status} (injected fault)")
