"""A double of Azure Service Operator: it watches its kinds on the real API server and plays what Azure does.

It adds its finalizer and the owner that ``spec.owner`` names, writes the kubeconfig before a cluster is
ready, repeats Ready for every generation, and deletes "in Azure" unless the policy says otherwise. Orders of
a test (``hold``, ``fail``) concern objects by ``Kind/name``.
"""

from __future__ import annotations

import asyncio
import base64
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from tests.aro import asokinds
from tests.aro.asokinds import AsoKind
from tests.rig import closed_sockets
from vestibule.api.gvk import Kind
from vestibule.kube import api_requests, kubeconfig, lister
from vestibule.kube.client import ApiResponse, Client
from vestibule.kube.informer import Informer

Json = dict[str, Any]
FINALIZER: Final = "serviceoperator.azure.com/finalizer"
POLICY: Final = "serviceoperator.azure.com/reconcile-policy"
SUBSCRIPTION: Final = "00000000-0000-4000-8000-00000000cafe"
_SECRET: Final = Kind("", "v1", "Secret", "secrets")
_OWNERS: Final = {
    "VirtualNetworksSubnet": asokinds.NETWORK,
    "HcpOpenShiftClustersNodePool": asokinds.HCP,
    "HcpOpenShiftClustersExternalAuth": asokinds.HCP,
}
_BY_KIND: Final = {kind.kind: kind for kind in asokinds.KINDS}
_ARM: Final = {
    "ResourceGroup": "",
    "VirtualNetwork": "providers/Microsoft.Network/virtualNetworks",
    "Vault": "providers/Microsoft.KeyVault/vaults",
    "HcpOpenShiftCluster": "providers/Microsoft.RedHatOpenShift/hcpOpenShiftClusters",
}
_WORKERS: Final = 8


class Failure(NamedTuple):
    """What Ready says in place of True."""

    reason: str
    message: str = ""
    severity: str = "Error"


class Pool(NamedTuple):
    """A node pool, for who plays its nodes."""

    namespace: str
    cluster: str
    name: str
    replicas: int


class AsoDouble:
    """``with AsoDouble(path, credentials) as aso: aso.hold("Vault/kv")``; runs in a thread of its own."""

    def __init__(
        self,
        path: Path,
        credentials: Callable[[str, str], bytes],
        *,
        pooled: Callable[[Pool], None] = lambda _: None,
    ) -> None:
        """``credentials``: the kubeconfig of the cluster of this namespace and name."""
        self._path, self._credentials, self._pooled = path, credentials, pooled
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="aso", daemon=True)
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._queue: asyncio.Queue[tuple[AsoKind, str, str]] = asyncio.Queue()
        self._waiting: set[tuple[str, str, str]] = set()
        self._followers: dict[str, Informer] = {}
        self._kinds = {one.kind: Kind(one.group, one.version, one.kind, one.plural) for one in asokinds.KINDS}
        self._policies: dict[str, str] = {}
        self._flips: dict[str, int] = {}
        """How often a policy went to ``skip`` or back: no other annotation makes the real one look."""
        self._alone: defaultdict[tuple[str, str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._given: dict[str, str] = {}
        """What a kubeconfig was written for, by uid of its cluster."""
        self._orders: dict[str, Failure | None] = {}
        self._stuck: set[str] = set()
        self.deleted: list[str] = []
        """``namespace/Kind/name`` of what was deleted in Azure, in order."""
        self.marked: dict[str, int] = {}
        """Under the same names: the resource version with which a deletion was asked for."""
        self.left: list[str] = []
        """The same, of what went here only."""
        self.calls = 0
        """Writes of ours, for who counts those of others."""
        self.secrets: Counter[str] = Counter()
        """How often a kubeconfig was written, by namespace."""
        self.broken: list[BaseException] = []

    # ── orders ──────────────────────────────────────────────────────────────────────────────────────────────

    def hold(self, *names: str) -> None:
        """These come to nothing until they are released."""
        self._orders |= dict.fromkeys(names)

    def fail(self, name: str, failure: Failure) -> None:
        """This one fails from now on."""
        self._orders[name] = failure
        self._again()

    def release(self, *names: str) -> None:
        """These are as always; without names, all."""
        for name in names or list(self._orders):
            self._orders.pop(name, None)
        self._again()

    def never_delete(self, *names: str) -> None:
        """The deletion of these does not end; without names, all deletions do."""
        self._stuck = set(names)
        self._again()

    def _again(self) -> None:
        def add() -> None:
            for follower in self._followers.values():
                for space in follower.store.namespaces():
                    for name in follower.store.names(space):
                        self._add(_BY_KIND[follower.kind.kind], space, name)

        self._loop.call_soon_threadsafe(add)

    # ── running ─────────────────────────────────────────────────────────────────────────────────────────────

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)
        self._loop.close()
        assert not self.broken, self.broken[0]

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._client = Client(kubeconfig.load([self._path]))
        tasks: list[asyncio.Task[Any]] = []
        for kind in asokinds.KINDS:
            follower = Informer(self._client, self._kinds[kind.kind], self._report, optional=True)
            self._followers[kind.kind] = follower
            tasks.append(asyncio.create_task(follower.run()))
        tasks += [asyncio.create_task(self._work()) for _ in range(_WORKERS)]
        while not all(one.synced for one in self._followers.values()):  # noqa: ASYNC110 - they tell nobody
            await asyncio.sleep(0.01)
        self._ready.set()
        await self._stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.close()
        await closed_sockets.closed()

    def _report(self, change: str, kind: Kind, obj: Json) -> None:
        meta = obj["metadata"]
        if meta.get("deletionTimestamp"):
            # the first event that shows it carries the version of the request itself
            name = f"{meta['namespace']}/{kind.kind}/{meta['name']}"
            self.marked.setdefault(name, int(meta["resourceVersion"]))
        policy = str((meta.get("annotations") or {}).get(POLICY) or "")
        before = self._policies.get(meta["uid"], policy)
        self._policies[meta["uid"]] = policy
        if policy != before and "skip" in (policy, before):
            self._flips[meta["uid"]] = self._flips.get(meta["uid"], 0) + 1
        if change != "deleted":
            self._add(_BY_KIND[kind.kind], meta["namespace"], meta["name"])
        if change == "added":  # somebody may have waited for it
            for late, namespace, name in list(self._waiting):
                self._waiting.discard((late, namespace, name))
                self._add(_BY_KIND[late], namespace, name)

    def _add(self, kind: AsoKind, namespace: str, name: str) -> None:
        self._queue.put_nowait((kind, namespace, name))

    async def _work(self) -> None:
        while True:
            kind, namespace, name = await self._queue.get()
            # as the real one, which never looks at an object twice at a time
            async with self._alone[kind.kind, namespace, name]:
                found = self._followers[kind.kind].store.get(namespace, name)
                if found is None:
                    continue
                try:
                    await self._look(kind, found.object)
                except Exception as error:  # noqa: BLE001 - told at the end
                    self.broken.append(error)

    # ── one object ──────────────────────────────────────────────────────────────────────────────────────────

    async def _look(self, kind: AsoKind, obj: Json) -> None:
        meta = obj["metadata"]
        what = f"{kind.kind}/{meta['name']}"
        if meta.get("deletionTimestamp"):
            await self._leave(kind, obj, what)
            return
        owner = self._owner(obj)
        if await self._mark(kind, obj, owner):
            return  # the watch brings it back
        if what in self._orders or f"{meta['namespace']}/{what}" in self._orders:
            failure = self._orders.get(what) or self._orders.get(f"{meta['namespace']}/{what}")
            reported = failure or Failure("Reconciling", "being reconciled", "Info")
            await self._status(kind, obj, reported)
            return
        if "owner" in obj["spec"] and owner is None and "armId" not in obj["spec"]["owner"]:
            self._waiting.add((kind.kind, meta["namespace"], meta["name"]))
            await self._status(kind, obj, Failure("WaitingForOwner", "Owner cannot be found", "Warning"))
            return
        if kind is asokinds.HCP:
            await self._credential(obj)
        if kind is asokinds.NODE_POOL:
            self._nodes(obj)
        await self._status(kind, obj, None)

    def _owner(self, obj: Json) -> Json | None:
        reference = obj["spec"].get("owner") or {}
        name, kind = reference.get("name"), reference.get("kind")
        meant = _BY_KIND.get(kind) if kind else _OWNERS.get(obj["kind"], asokinds.GROUP)
        if not name or meant is None:
            return None
        found = self._followers[meant.kind].store.get(obj["metadata"]["namespace"], name)
        return found.object if found else None

    async def _mark(self, kind: AsoKind, obj: Json, owner: Json | None) -> bool:
        """Finalizer and owner, as the real one sets them."""
        meta = obj["metadata"]
        patch: Json = {}
        if FINALIZER not in meta.get("finalizers", ()):
            patch["finalizers"] = [*meta.get("finalizers", ()), FINALIZER]
        held = meta.get("ownerReferences") or []
        if owner is not None and not any(one["uid"] == owner["metadata"]["uid"] for one in held):
            reference = {key: owner[key] for key in ("apiVersion", "kind")}
            reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
            patch["ownerReferences"] = [*held, reference]
        if not patch:
            return False
        patch["resourceVersion"] = meta["resourceVersion"]
        answer = await self._send(kind, obj, {"metadata": patch})
        return answer.status in (200, 404, 409)

    async def _leave(self, kind: AsoKind, obj: Json, what: str) -> None:
        meta = obj["metadata"]
        held = meta.get("finalizers") or []
        if FINALIZER not in held:
            return
        if what in self._stuck:
            await self._status(kind, obj, Failure("Deleting", "The resource is being deleted", "Info"))
            return
        left = [one for one in held if one != FINALIZER]
        patch = {"metadata": {"finalizers": left, "resourceVersion": meta["resourceVersion"]}}
        policy = (meta.get("annotations") or {}).get(POLICY, "manage")
        into = self.left if policy in ("skip", "detach-on-delete") else self.deleted
        # deleted in Azure first, as the real one does: whoever sees the object gone finds it in the list
        into.append(f"{meta['namespace']}/{what}")
        answer = await self._send(kind, obj, patch)
        if answer.status != 200:
            into.remove(f"{meta['namespace']}/{what}")

    async def _credential(self, obj: Json) -> None:
        """The kubeconfig, before the cluster is ready; anew for every look that is asked for."""
        meta = obj["metadata"]
        expected = (obj["spec"].get("operatorSpec") or {}).get("secrets", {}).get("adminCredentials")
        if not expected:
            return
        requested = self._asked(obj)
        known = _ready(obj) and (obj.get("status") or {}).get("seen") == requested
        if known or self._given.get(meta["uid"]) == requested:  # our own status may not be back yet
            return
        self._given[meta["uid"]] = requested
        content = self._credentials(meta["namespace"], meta["name"])
        reference = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": meta["name"]}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": expected["name"],
                "namespace": meta["namespace"],
                "ownerReferences": [{**reference, "uid": meta["uid"]}],
            },
            "type": "Opaque",
            "data": {expected["key"]: base64.b64encode(content).decode()},
        }
        existing = await lister.one(self._client, _SECRET, meta["namespace"], expected["name"])
        owners = (existing or {}).get("metadata", {}).get("ownerReferences") or ()
        if existing is not None and not any(one["uid"] == meta["uid"] for one in owners):
            return  # as the real one does: what it did not create it does not overwrite
        call = api_requests.apply(_SECRET, secret, field_manager="aso", force=True)
        answer = await self._client.send(call)
        assert answer.status in (200, 201, 403), answer.body  # 403: the namespace goes
        self.secrets[meta["namespace"]] += 1
        self.calls += 1

    def _asked(self, obj: Json) -> str:
        """What makes the real one look again."""
        meta = obj["metadata"]
        return f"{meta['generation']}/{self._flips.get(meta['uid'], 0)}"

    def _nodes(self, obj: Json) -> None:
        properties = obj["spec"].get("properties") or {}
        count = properties.get("replicas")
        if count is None:
            count = (properties.get("autoScaling") or {}).get("min", 0)
        name = obj["spec"].get("azureName") or obj["metadata"]["name"]
        owner = obj["spec"]["owner"]["name"]
        self._pooled(Pool(obj["metadata"]["namespace"], owner, name, int(count)))

    async def _status(self, kind: AsoKind, obj: Json, failure: Failure | None) -> None:
        meta = obj["metadata"]
        if failure is not None:
            self._given.pop(meta["uid"], None)
        before = obj.get("status") or {}
        condition: Json = {
            "type": "Ready",
            "status": "True" if failure is None else "False",
            "reason": "Succeeded" if failure is None else failure.reason,
            "observedGeneration": meta["generation"],
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        if failure is not None:
            condition |= {"message": failure.message, "severity": failure.severity}
        expected: Json = {"conditions": [condition]}
        if failure is None:
            expected |= _facts(kind, obj)
            expected |= {"seen": self._asked(obj)} if kind is asokinds.HCP else {}
        if all(before.get(key) == value for key, value in expected.items()):
            return
        await self._send(kind, obj, {"status": expected}, "status")

    async def _send(self, kind: AsoKind, obj: Json, patch: Json, sub: str = "") -> ApiResponse:
        meta = obj["metadata"]
        call = api_requests.merge_patch(self._kinds[kind.kind], meta["namespace"], meta["name"], patch, sub)
        self.calls += 1
        answer = await self._client.send(call)
        if answer.status == 409:
            asyncio.get_running_loop().call_later(0.05, self._add, kind, meta["namespace"], meta["name"])
        assert answer.status in (200, 404, 409), answer.body
        return answer


def _ready(obj: Json) -> bool:
    found = (obj.get("status") or {}).get("conditions") or []
    return any(
        one["status"] == "True" and one["observedGeneration"] == obj["metadata"]["generation"]
        for one in found
    )


def _facts(kind: AsoKind, obj: Json) -> Json:
    """What Azure tells about a thing that is there."""
    meta, spec = obj["metadata"], obj["spec"]
    name = spec.get("azureName") or meta["name"]
    group = str((spec.get("owner") or {}).get("name") or name)
    root = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}"
    path = _ARM.get(kind.kind, f"providers/Microsoft.Other/{kind.plural}")
    found: Json = {"id": f"{root}/{path}/{name}" if path else root}
    properties = spec.get("properties") or {}
    if kind is asokinds.HCP:
        found["properties"] = {
            "provisioningState": "Succeeded",
            "api": {"url": f"https://api.{name}.example.com:6443"},
            "console": {"url": f"https://console.{name}.example.com"},
            "version": {"id": f"{properties['version']['id']}.8"},
            "dns": {"baseDomain": "example.com", "baseDomainPrefix": f"{name[:10]}-x"},
        }
    if kind is asokinds.NODE_POOL:
        found["properties"] = {"provisioningState": "Succeeded"}
        found["properties"] |= {key: properties[key] for key in ("replicas", "version") if key in properties}
    return found
