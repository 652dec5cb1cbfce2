"""Whole runs of ARO cases: our decisions in turn with a played Azure Service Operator and Cluster API core,
until nothing changes any more."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.vectors.aro_stage import Stage
from vestibule.apps.operator.runtime.workqueue import Queue
from vestibule.core.aro import embedded

Json = dict[str, Any]
_KINDS = ("AROCluster", "AROControlPlane", "AROMachinePool")
_ROUNDS = 60


def run(vector: Json) -> Iterator[str]:
    """A run until something is reached, and the order in which it went."""
    stage = Stage(vector["objects"], vector.get("world") or _vaults())
    until = vector["action"]["until"]
    if until == "Cluster gone":
        for one in stage.objects.values():
            if one["kind"] == "Cluster":
                one["metadata"].setdefault("finalizers", ["cluster.cluster.x-k8s.io"])
            if one["kind"] == "MachinePool":
                one["metadata"].setdefault("finalizers", ["machinepool.cluster.x-k8s.io"])
        _delete_cluster(stage)
    play(stage)
    yield from _ordered(vector["expect"], stage.log)


def sequence(vector: Json) -> Iterator[str]:
    """Steps, one after the other."""
    steps, want = vector["action"]["steps"], vector["expect"]
    if "secondStepRuns" in want:
        yield from _own_queues(want)
        return
    stage = Stage(vector["objects"], vector.get("world") or _vaults())
    for step in steps:
        for verb in step:
            if verb in ("run", "restart", "asoDeletesAfterSeconds"):
                play(stage)  # decisions keep nothing between two looks, so a restart changes nothing
            elif verb in ("pause", "resume"):
                cluster = stage.find("Cluster", "c1")
                assert cluster is not None
                cluster["spec"]["paused"] = verb == "pause"
                play(stage)
            elif verb == "delete":
                _delete_cluster(stage)
                play(stage)
            else:
                yield f"the runner knows no step {verb!r}"
    for wish, wanted in want.items():
        if wish == "azureDeleted":
            yield from (f"{one} stays in Azure" for one in wanted if one not in stage.in_azure_deleted)
        elif wish == "left":
            left = [
                f"{one['kind']}/{one['metadata']['name']}"
                for one in stage.objects.values()
                if embedded.of(one).group.endswith("azure.com")
            ]
            if left != wanted:
                yield f"left: got {left}"
        elif wish == "gone":
            yield from (f"{one} is still there" for one in wanted if stage.find(*one.split("/")) is not None)
        else:
            yield f"the case wants {wish}, which the runner does not know"


def contract(vector: Json) -> Iterator[str]:
    """Conditions that Cluster API mirrors must be on each kind when all is up."""
    stage = Stage(vector["objects"], _vaults())
    play(stage)
    for kind, wanted in vector["expect"].items():
        found = [one for one in stage.objects.values() if one["kind"] == kind]
        if not found and kind != "AROMachinePool":
            yield f"no {kind} in the case"
        for one in found:
            types = {each["type"] for each in embedded.value(one, "status.conditions") or ()}
            yield from (f"{kind} has no condition {each}" for each in wanted if each not in types)


def play(stage: Stage) -> None:
    """Everybody in turn until a whole round changes nothing."""
    for _ in range(_ROUNDS):
        before = copy.deepcopy(stage.objects)
        for one in list(stage.objects.values()):
            if one["kind"] in _KINDS:
                stage.look(one["kind"], one["metadata"]["namespace"], one["metadata"]["name"])
        stage.play_aso()
        _play_core(stage)
        if stage.objects == before:
            return
    raise AssertionError(f"still changing after {_ROUNDS} rounds: {stage.log[-10:]}")


def _play_core(stage: Stage) -> None:
    """Cluster API core: owner references, the latch of the infrastructure, and deletion in its order."""
    for cluster in [one for one in stage.objects.values() if one["kind"] == "Cluster"]:
        if cluster["spec"].get("paused"):
            continue
        if cluster["metadata"].get("deletionTimestamp"):
            _end(stage, cluster)
            continue
        reference = cluster["spec"].get("infrastructureRef") or {}
        infrastructure = stage.find("AROCluster", str(reference.get("name")))
        latched = embedded.value(cluster, "status.initialization.infrastructureProvisioned")
        if embedded.value(infrastructure, "status.initialization.provisioned") and not latched:
            cluster["status"] = {"initialization": {"infrastructureProvisioned": True}}
            stage.log.append("Cluster infrastructureProvisioned=True")


def _end(stage: Stage, cluster: Json) -> None:
    """First the pools, then the control plane, then the infrastructure, each gone before the next."""
    for kind in ("MachinePool", "AROMachinePool", "AROControlPlane", "AROCluster"):
        left = [one for one in stage.objects.values() if one["kind"] == kind]
        if not left:
            continue
        for one in left:
            stage.delete(one)
            if kind == "MachinePool" and not any(
                each["kind"] == "AROMachinePool" for each in stage.objects.values()
            ):
                one["metadata"]["finalizers"] = []
                stage._sweep(one)
            elif kind == "MachinePool":
                for each in list(stage.objects.values()):
                    if each["kind"] == "AROMachinePool":
                        stage.delete(each)
        return
    cluster["metadata"]["finalizers"] = []
    stage._sweep(cluster)


def _delete_cluster(stage: Stage) -> None:
    cluster = stage.find("Cluster", "c1")
    assert cluster is not None
    cluster["metadata"].setdefault("finalizers", ["cluster.cluster.x-k8s.io"])
    stage.delete(cluster)


def _vaults() -> Json:
    """Any vault of the played Azure makes keys."""

    class Vaults(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            return self.setdefault(key, {"keys": {}, "createReturnsVersion": "v1"})

    return {"keyvault": Vaults()}


def _ordered(want: Json, log: list[str]) -> Iterator[str]:
    def position(what: str) -> int:
        return log.index(what) if what in log else -1

    pairs = list(want.get("partialOrder") or ())
    order = want.get("order") or []
    pairs += [list(pair) for pair in pairwise(order)]
    for first, then in pairs:
        before, after = position(first), position(then)
        if before < 0 or after < 0:
            yield f"never happened: {first if before < 0 else then}"
        elif before > after:
            yield f"{then!r} came before {first!r}"


def _own_queues(want: Json) -> Iterator[str]:
    """Each controller has a queue of its own: a name that one is done with is not kept from the other."""

    async def second() -> bool:
        queues: dict[str, Queue[str]] = {kind: Queue(workers=1) for kind in _KINDS}
        queues["AROControlPlane"].add("default/same", 10.0)
        queues["AROMachinePool"].add("default/same")
        return len(queues["AROMachinePool"]) == 1

    runs = asyncio.run(second())
    if runs is not want["secondStepRuns"]:
        yield f"the second step runs: {runs}"
