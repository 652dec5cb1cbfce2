"""A live cluster behind the ports: namespaces and ServiceAccounts are reflected, workloads are read when a
pod names them.

What is not in the store is UNKNOWN, never "absent": a ServiceAccount created a millisecond before its pod
is read from the API server, and an absence is never cached. Workloads would be many and most never asked for,
so they are read on demand and cached for at most a second. An owner is never older than what it owns: when a
ReplicaSet or Job is read, its own controller is read anew after it, so the annotations that a rollout began
with are those that its pods get.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from vestibule import errors
from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.injection.facts import SourceObject
from vestibule.kube import api_requests, client
from vestibule.kube.client import Client
from vestibule.kube.ports import UNKNOWN, Unknown, WatchEvent
from vestibule.kube.slim_informer import SlimInformer
from vestibule.kube.slim_store import SlimObject, source

REFLECTED: Final = (gvk.NAMESPACE, gvk.SERVICE_ACCOUNT)
OWNER_SECONDS: Final = 1.0
"""How long a workload that was read is cached; a rollout asks for the same one many times a second."""
_CACHE_BYTES: Final = 8 * 1024 * 1024
"""Room for cached workloads; some 10,000 of ordinary size."""
_ENTRY_BYTES: Final = 600
"""What a cached workload takes besides its annotations."""
_LOST_SECONDS: Final = 60.0
"""How long a store may be on its own before we stop calling ourselves ready."""

_FORBIDDEN_SECONDS: Final = 60.0
"""How long we do not ask for a kind that we may not read and can do without."""

logger = logging.getLogger(__name__)
_item = msgspec.json.Decoder(SlimObject).decode
_Key = tuple[Kind, str, str]
_PARENTS: Final = {gvk.REPLICA_SET: gvk.DEPLOYMENT, gvk.JOB: gvk.CRON_JOB}


class _RecentWorkload(NamedTuple):
    """A workload that was read."""

    until: float
    found: SourceObject
    size: int


class LiveCluster:
    """Fulfils Reader, Cache, Watcher and Writer."""

    def __init__(
        self, client: Client, *, clock: Callable[[], float] = time.monotonic, forgiving: bool = False
    ) -> None:
        """``forgiving``: namespaces and workloads that we may not read count as absent."""
        self._client = client
        self._clock = clock
        self._forgiving = forgiving
        self._forbidden: dict[Kind, float] = {}
        self._callbacks: list[Callable[[WatchEvent], None]] = []
        self.lookups: Counter[tuple[str, str]] = Counter()
        """Live reads by kind and result."""
        self.reflectors = {kind: SlimInformer(client, kind, self._tell, clock=clock) for kind in REFLECTED}
        self._stores = {kind: reflector.store for kind, reflector in self.reflectors.items()}
        self._recent: OrderedDict[_Key, _RecentWorkload] = OrderedDict()
        self._recent_bytes = 0
        self._reading: dict[_Key, asyncio.Task[SourceObject | None]] = {}

    @property
    def synced(self) -> bool:
        """Whether every reflected kind has been listed once."""
        return all(reflector.synced for reflector in self.reflectors.values())

    def problem(self) -> str:
        """What keeps the cache from being trusted; empty when nothing does."""
        for kind, reflector in self.reflectors.items():
            if not reflector.synced:
                if reflector.forbidden and self._may_miss(kind):
                    continue
                return f"{kind} not listed yet{': ' + reflector.error if reflector.error else ''}"
            lost = reflector.lost_for()
            if lost > _LOST_SECONDS:
                return f"{kind} not watched for {lost:.0f} s: {reflector.error}"
        return ""

    def cache_metrics(self) -> dict[str, float]:
        """What the metrics show of the caches."""
        shown: dict[str, float] = {}
        for kind, reflector in self.reflectors.items():
            shown[f"cached_{kind.plural}"] = len(reflector.store)
            shown[f"lost_seconds_{kind.plural}"] = reflector.lost_for()
            shown[f"lists_{kind.plural}"] = reflector.lists
        return shown

    async def run(self, interval: float = 0.0) -> None:
        """Keep the stores in step, for ever."""
        del interval  # we are told, we need not look
        async with asyncio.TaskGroup() as group:
            for kind, reflector in self.reflectors.items():
                group.create_task(reflector.run(), name=f"reflect {kind}")

    async def close(self) -> None:
        """Close every connection."""
        for task in list(self._reading.values()):
            task.cancel()
        await asyncio.gather(*self._reading.values(), return_exceptions=True)
        await self._client.close()

    def peek(self, kind: Kind, namespace: str, name: str, uid: str = "") -> SourceObject | None | Unknown:
        """What is known without asking."""
        store = self._stores.get(kind)
        if store is not None:
            found = store.get(namespace, name)
            if found is not None:
                return found
        recent = self._recent.get((kind, namespace, name))
        if recent is not None and recent.until > self._clock():
            found = recent.found
            if not (uid and found.uid) or uid == found.uid:
                return found  # else another object has taken the name
        if self._forbidden and self._forbidden.get(kind, 0.0) > self._clock():
            return None
        return UNKNOWN

    async def get(self, kind: Kind, namespace: str, name: str) -> SourceObject | None:
        """The truth; those who ask for the same object at the same time share one read."""
        key = (kind, namespace, name)
        task = self._reading.get(key)
        if task is None:
            task = asyncio.create_task(self._read(key))
            self._reading[key] = task
            task.add_done_callback(lambda done: self._read_ended(key, done))
        return await asyncio.shield(task)

    def _read_ended(self, key: _Key, task: asyncio.Task[SourceObject | None]) -> None:
        if self._reading.get(key) is task:  # else a newer read has taken its place
            del self._reading[key]

    async def _read(self, key: _Key) -> SourceObject | None:
        kind, namespace, name = key
        what = _named(kind, namespace, name)
        if not api_requests.is_name(name) or (namespace and not api_requests.is_name(namespace)):
            return None  # no object has such a name, whatever an owner reference says
        started = self._clock()
        try:
            answer = await self._client.send(api_requests.get(kind, namespace, name))
            if answer.status == 403 and self._may_miss(kind):
                self.lookups[kind.kind, "forbidden"] += 1
                self._pass_over(kind, client.message(answer.body))
                return None
            if answer.status not in (200, 404):
                client.raise_for(answer, f"reading {what}")
            found = source(kind, _item(answer.body)) if answer.status == 200 else None
        except errors.Forbidden:
            self.lookups[kind.kind, "forbidden"] += 1
            raise
        except (errors.Unavailable, errors.Conflict, msgspec.MsgspecError) as error:
            self.lookups[kind.kind, "failed"] += 1
            raise errors.LookupFailed(what, str(error)) from error
        self.lookups[kind.kind, "found" if found else "absent"] += 1
        if found is not None and kind not in self._stores:
            # a read that was overtaken by a newer one of the same object must not be cached over it
            if self._reading.get(key) is asyncio.current_task():
                self._cache(key, found, started)
            self._read_owners_anew(kind, found)
        return found

    def _may_miss(self, kind: Kind) -> bool:
        """Whether we go on without a kind that we may not read; without ServiceAccounts nothing goes."""
        return self._forgiving and kind != gvk.SERVICE_ACCOUNT

    def _pass_over(self, kind: Kind, error: str) -> None:
        """Ask for no more of a kind for a while: the answer would be the same."""
        if kind not in self._forbidden:
            logger.warning("may not be read, passed over", extra={"kind": str(kind), "error": error})
        self._forbidden[kind] = self._clock() + _FORBIDDEN_SECONDS

    def _read_owners_anew(self, kind: Kind, found: SourceObject) -> None:
        """What owns an object that was just read must be read after it: neither the cache nor a read that is
        under way counts."""
        parent = _PARENTS.get(kind)
        if parent is None:
            return
        for owner in found.owners:
            if owner.kind == parent.kind:
                key = (parent, found.namespace, owner.name)
                self._drop(key)
                self._reading.pop(key, None)

    def _cache(self, key: _Key, found: SourceObject, since: float) -> None:
        """Cache what was read; its second counts from the moment it was asked for."""
        self._drop(key)
        size = _ENTRY_BYTES + sum(map(len, found.annotations))
        self._recent[key] = _RecentWorkload(since + OWNER_SECONDS, found, size)
        self._recent_bytes += size
        while self._recent_bytes > _CACHE_BYTES:
            self._drop(next(iter(self._recent)))

    def _drop(self, key: _Key) -> None:
        dropped = self._recent.pop(key, None)
        if dropped is not None:
            self._recent_bytes -= dropped.size

    async def fetch(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        """See ObjectLister."""
        return await self._whole(api_requests.get(kind, namespace, name), _named(kind, namespace, name))

    async def listing(self, kind: Kind) -> list[dict[str, Any]]:
        """See ObjectLister."""
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            page = await self._whole(api_requests.list_page(kind, token), str(kind)) or {}
            found += page.get("items") or []
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return sorted(found, key=lambda obj: str((obj.get("metadata") or {}).get("name")))

    async def version(self) -> str:
        """See ObjectLister."""
        said = await self._whole(api_requests.ApiRequest("GET", "/version"), "/version") or {}
        return str(said.get("gitVersion", ""))

    async def _whole(self, call: api_requests.ApiRequest, what: str) -> dict[str, Any] | None:
        answer = await self._client.send(call)
        if answer.status == 404:
            return None
        if answer.status != 200:
            client.raise_for(answer, f"reading {what}")
        try:
            return msgspec.json.decode(answer.body, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise errors.LookupFailed(what, str(error)) from error

    def subscribe(self, callback: Callable[[WatchEvent], None]) -> Callable[[], None]:
        """Call back on every change of a reflected kind; the returned function ends it."""
        self._callbacks.append(callback)

        def end() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return end

    def _tell(self, event: WatchEvent) -> None:
        for callback in self._callbacks:
            callback(event)

    async def apply(self, obj: Mapping[str, Any], *, field_manager: str, force: bool = False) -> None:
        """Server-side apply."""
        kind = gvk.BY_KIND.get(str(obj.get("kind")))
        if kind is None or kind.api_version != obj.get("apiVersion"):
            raise errors.InvalidInput(
                errors.InputProblem(
                    f"{obj.get('apiVersion')} {obj.get('kind')}", "kind", "is none that we write"
                )
            )
        answer = await self._client.send(
            api_requests.apply(kind, obj, field_manager=field_manager, force=force)
        )
        if answer.status not in (200, 201):
            meta = obj["metadata"]
            client.raise_for(answer, f"applying {_named(kind, meta.get('namespace', ''), meta['name'])}")


def _named(kind: Kind, namespace: str, name: str) -> str:
    return f"{kind.kind} {namespace}/{name}" if namespace else f"{kind.kind} {name}"
