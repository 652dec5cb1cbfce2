"""A small cluster in memory for ARO cases: it is asked as the World of a decision, carries passes out as an
API server would, and plays Azure Service Operator and Cluster API core where a case wants a whole run."""

from __future__ import annotations

import base64
import copy
import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import yaml

from vestibule.api import aso
from vestibule.aro import cluster, controlplane, embedded, machinepool, names
from vestibule.aro.embedded import ResourceIdentity
from vestibule.aro.ports import (
    ClusterNode,
    KeyQuestion,
    Listing,
    MergePatch,
    NodesQuestion,
    NoKind,
    ObjectRef,
    ReconcileResult,
    Unreadable,
)
from vestibule.operator.controllers.aro import reconciler
from vestibule.operator.controllers.aro.apply import Failure

Json = dict[str, Any]
Key = tuple[str, str, str, str]
DECIDE = {
    "AROCluster": cluster.decide,
    "AROControlPlane": controlplane.decide,
    "AROMachinePool": machinepool.decide,
}
NOW = datetime.datetime(2026, 11, 16, 12, 0, tzinfo=datetime.UTC)
_SERVED = {
    "resources.azure.com",
    "network.azure.com",
    "keyvault.azure.com",
    "managedidentity.azure.com",
    "authorization.azure.com",
    names.OPENSHIFT,
    names.CLUSTER_API,
    names.INFRASTRUCTURE,
    names.CONTROL_PLANE,
    "",
}
"""Groups whose kinds are served; another group has no definitions."""
_UNSERVED = {"Nope"}


def key_of(obj: Json) -> Key:
    what, meta = embedded.of(obj), obj["metadata"]
    return what.group, what.kind, str(meta.get("namespace") or ""), str(meta["name"])


class Stage:
    """The objects, and what happened to them."""

    def __init__(self, objects: Iterable[Json], reader: Json | None = None) -> None:
        self.now = NOW
        self.permitted = aso.STANDARD
        self.deletions_checked: datetime.datetime | None = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
        self.objects: dict[Key, Json] = {}
        for one in objects:
            self.put(copy.deepcopy(one))
        self.before = copy.deepcopy(self.objects)
        """As the case gives them."""
        self.written: list[tuple[str, str]] = []
        """What was sent to the API server besides the subject's own status, with its namespace."""
        self.reader = reader or {}
        self.azure: list[Json] = []
        self.applied: list[Json] = []
        self.deleted: list[ResourceIdentity] = []
        self.log: list[str] = []
        """What happened, in words, in order."""
        self.in_azure_deleted: list[str] = []

    # ── World ───────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, ref: ObjectRef) -> Json | None:
        fault = (self.reader.get("get") or {}).get(f"{ref.kind}/{ref.name}")
        if fault:
            raise Unreadable(ref, _error(fault))
        found = self.objects.get((ref.group, ref.kind, ref.namespace, ref.name))
        return copy.deepcopy(found)

    def list(self, listing: Listing) -> Sequence[Json]:
        what = listing.gvk
        if what.group not in _SERVED or what.kind in _UNSERVED:
            raise NoKind(what)
        faults = self.reader.get("get") or {}
        for name, fault in faults.items():
            if name.startswith(f"{what.kind}/"):
                raise Unreadable(listing, _error(fault))
        return [
            copy.deepcopy(one)
            for (group, kind, namespace, _), one in self.objects.items()
            if (group, kind, namespace) == (what.group, what.kind, listing.namespace)
        ]

    def key_version(self, question: KeyQuestion) -> str:
        vaults = self.reader.get("keyvault", {})
        vault = vaults.get(f"{question.resource_group}/{question.vault}")
        about = {"resourceGroup": question.resource_group, "vault": question.vault, "key": question.key}
        if vault is None:
            raise Unreadable(question, "404: no such vault")
        if "getError" in vault:
            self.azure.append({"op": "keys.get", **about, "result": vault["getError"]})
            raise Unreadable(question, f"answered {vault['getError']}")
        found = (vault.get("keys") or {}).get(question.key)
        if found is not None:
            self.azure.append({"op": "keys.get", **about, "result": 200})
            return str(found["current"])
        self.azure.append({"op": "keys.get", **about, "result": 404})
        created = str(vault["createReturnsVersion"])
        self.azure.append(
            {"op": "keys.createIfNotExist", **about, "kty": "RSA", "keySize": 2048, "returnsVersion": created}
        )
        vault.setdefault("keys", {})[question.key] = {"current": created}
        return created

    def nodes(self, question: NodesQuestion) -> Sequence[ClusterNode] | None:
        if self.reader.get("workloadError"):
            return None
        return [
            ClusterNode(one["name"], str(one.get("providerID") or ""))
            for one in self.reader.get("workloadNodes") or ()
            if (one.get("labels") or {}).get(question.label) == question.value
        ]

    def parsed(self, text: bytes) -> Any:
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from error

    # ── the API server ──────────────────────────────────────────────────────────────────────────────────────

    def put(self, obj: Json) -> None:
        meta = obj["metadata"]
        meta.setdefault("uid", f"u-{obj['kind'].lower()}-{meta['name']}")
        if obj["kind"] == "Secret":
            obj["data"] = {name: _encoded(value) for name, value in (obj.get("data") or {}).items()}
        self.objects[key_of(obj)] = obj

    def find(self, kind: str, name: str) -> Json | None:
        return next((one for key, one in self.objects.items() if (key[1], key[3]) == (kind, name)), None)

    def look(self, kind: str, namespace: str, name: str) -> ReconcileResult:
        """One pass of a controller, carried out."""
        groups = {"AROControlPlane": names.CONTROL_PLANE}
        subject = self.objects.get((groups.get(kind, names.INFRASTRUCTURE), kind, namespace, name))
        if subject is None:
            return ReconcileResult()
        created = DECIDE[kind](copy.deepcopy(subject), self)
        failure = self.carry_out(subject, created)
        if failure:
            return msgspec.structs.replace(created, outcome="error", message=failure, after=None)
        return created

    def _applied(self, wanted: Iterable[Json]) -> Iterator[Failure]:
        """Apply each; the faults of the case hold up no other."""
        for one in wanted:
            group, kind, namespace, name = key_of(one)
            fault = (self.reader.get("apply") or {}).get(f"{kind}/{name}")
            if fault:
                text = f"applying {kind} {namespace}/{name}: {_error(fault)}"
                yield Failure(ObjectRef(group, kind, namespace, name), text)
                continue
            self.written.append((f"apply of {kind}/{name}", namespace))
            self._apply(one)

    def carry_out(self, subject: Json, made: ReconcileResult) -> str:
        """What went wrong; empty when all was written."""
        meta, finalizer = subject["metadata"], names.FINALIZERS[subject["kind"]]
        held = meta.setdefault("finalizers", [])
        if made.finalizer and finalizer not in held:
            held.append(finalizer)
        _merge(meta, {"annotations": dict(made.annotations)})
        for change in made.changes:
            self.written.append((f"change of {change.ref}", change.ref.namespace))
            self._change(change)
        failures = [*self._applied(made.desired)]
        for one in made.deletions:
            self.written.append((f"delete of {key_of(one)}", key_of(one)[2]))
            self.deleted.append(embedded.identity(one))
            self.delete(one)
        failures += self._applied(made.secrets)
        if failures:  # as the reconciler does: the pass ends in the conditions, and nothing else is written
            status = reconciler.failed_status(subject, made, self, failures)
            subject["status"] = copy.deepcopy(status)
            return "; ".join(one.text for one in failures)
        if made.spec:
            _merge(subject.setdefault("spec", {}), made.spec)
        if made.status is not None:
            before = copy.deepcopy(subject.get("status") or {})
            subject["status"] = made.status
            self._report(subject, before)
        if made.finalizer is False and finalizer in held:
            held.remove(finalizer)
            self._sweep(subject)
        return ""

    def _report(self, subject: Json, before: Json) -> None:
        old = {one["type"]: one["status"] for one in before.get("conditions") or ()}
        for one in subject["status"].get("conditions") or ():
            if old.get(one["type"]) != one["status"]:
                self.log.append(f"{subject['kind']} {one['type']}={one['status']}")
        for path in ("ready", "initialization.provisioned"):
            now = embedded.value(subject["status"], path)
            if now is True and embedded.value(before, path) is not True:
                self.log.append(f"{subject['kind']} status.{path}=True")

    def _change(self, change: MergePatch) -> None:
        ref = change.ref
        found = self.objects[ref.group, ref.kind, ref.namespace, ref.name]
        _merge(found, change.patch)

    def _apply(self, one: Json) -> None:
        self.applied.append(copy.deepcopy(one))
        before = self.objects.get(key_of(one))
        if before is None:
            created = copy.deepcopy(one)
            created["metadata"]["generation"] = 1
            created["metadata"].setdefault("uid", f"u-{one['kind'].lower()}-{one['metadata']['name']}")
            self.objects[key_of(one)] = created
            self.log.append(f"{one['kind']}/{one['metadata']['name']} applied")
            if one["kind"] == "Secret":
                self.log.append(f"Secret/{one['metadata']['name']} exists")
            return
        spec = copy.deepcopy(before.get("spec"))
        _merge(before, {key: value for key, value in one.items() if key not in ("metadata", "status")})
        _merge(before["metadata"], {k: v for k, v in one["metadata"].items() if k != "managedFields"})
        before["apiVersion"] = one["apiVersion"]
        if before.get("spec") != spec:
            before["metadata"]["generation"] = int(before["metadata"].get("generation") or 0) + 1

    def delete(self, one: Json) -> None:
        found = self.objects.get(key_of(one))
        if found is None or found["metadata"].get("deletionTimestamp"):
            return
        self.log.append(f"{found['kind']}/{found['metadata']['name']} delete issued")
        found["metadata"]["deletionTimestamp"] = self.now.isoformat()
        self._sweep(found)

    def _sweep(self, found: Json) -> None:
        """Gone is what is deleted and has no finalizers; what it owned follows."""
        if not found["metadata"].get("deletionTimestamp") or found["metadata"].get("finalizers"):
            return
        self.objects.pop(key_of(found), None)
        self.log.append(f"{found['kind']}/{found['metadata']['name']} gone")
        uid = found["metadata"].get("uid")
        for one in list(self.objects.values()):
            references = one["metadata"].get("ownerReferences") or ()
            if references and all(each.get("uid") == uid for each in references):
                self.delete(one)

    # ── Azure Service Operator ──────────────────────────────────────────────────────────────────────────────

    def play_aso(self) -> bool:
        """One step of Azure Service Operator that answers at once; whether it did anything."""
        did = False
        for one in list(self.objects.values()):
            group = embedded.of(one).group
            if group not in _SERVED or not group.endswith("azure.com"):
                continue
            did |= self._end(one) if one["metadata"].get("deletionTimestamp") else self._settle(one)
        return did

    def _end(self, one: Json) -> bool:
        policy = (one["metadata"].get("annotations") or {}).get(names.RECONCILE_POLICY)
        if policy != names.SKIP:
            self.in_azure_deleted.append(f"{one['kind']}/{one['metadata']['name']}")
        one["metadata"]["finalizers"] = []
        self._sweep(one)
        return True

    def _settle(self, one: Json) -> bool:
        meta = one["metadata"]
        generation = int(meta.get("generation") or 1)
        status = one.setdefault("status", {})
        if any(each.get("observedGeneration") == generation for each in status.get("conditions") or ()):
            return False
        if names.ASO_FINALIZER not in meta.setdefault("finalizers", []):
            meta["finalizers"].append(names.ASO_FINALIZER)
        azure = embedded.azure_name(one)
        status["id"] = f"/subscriptions/s/resourceGroups/rg/providers/x/{one['kind']}/{azure}"
        if one["kind"] == names.HCP:
            status["properties"] = {
                "provisioningState": "Succeeded",
                "api": {"url": "https://api.c1.example.com:6443"},
                "version": {"id": "4.20.3"},
                "dns": {"baseDomainPrefix": meta["name"]},
            }
            self._kubeconfig(one)
        if one["kind"] == names.NODE_POOL:
            status["properties"] = {"provisioningState": "Succeeded", "version": {"id": "4.20.8"}}
        status["conditions"] = [
            {"type": "Ready", "status": "True", "reason": "Succeeded", "observedGeneration": generation}
        ]
        self.log.append(f"{one['kind']}/{meta['name']} Ready=True")
        return True

    def _kubeconfig(self, hcp: Json) -> None:
        place = embedded.value(hcp, "spec.operatorSpec.secrets.adminCredentials")
        if not place:
            return
        reference = {"apiVersion": hcp["apiVersion"], "kind": hcp["kind"], "name": hcp["metadata"]["name"]}
        meta = {
            "name": place["name"],
            "namespace": hcp["metadata"]["namespace"],
            "ownerReferences": [{**reference, "uid": hcp["metadata"]["uid"]}],
        }
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
        if key_of(secret) not in self.objects:
            self.put({**secret, "data": {place["key"]: "<kubeconfig>"}})
            self.log.append(f"Secret/{place['name']} exists")


def _error(fault: Json | str) -> str:
    return str(fault["error"] if isinstance(fault, dict) else fault)


def _merge(into: Json, patch: Json) -> None:
    """A JSON merge patch."""
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            inner = into.get(key)
            if not isinstance(inner, dict):
                inner = into[key] = {}
            _merge(inner, value)
        else:
            into[key] = copy.deepcopy(value)


_KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    "clusters": [{"name": "k", "cluster": {"server": "https://api.c1.example.com:6443"}}],
    "users": [{"name": "u", "user": {}}],
}


def _encoded(value: str) -> str:
    """Data of a Secret; cases say in angle brackets which kubeconfig is meant."""
    if not value.startswith("<"):
        return value
    created = copy.deepcopy(_KUBECONFIG)
    if "without" not in value and "no certificate-authority" not in value:
        created["clusters"][0]["cluster"]["certificate-authority-data"] = "Q0E="  # type: ignore[index]
    return base64.b64encode(yaml.safe_dump(created).encode()).decode()
