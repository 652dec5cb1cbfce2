"""Whole runs of ARO cases: our decisions in turn with a played Azure Service Operator and Cluster API core,
until nothing changes any more."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.vectors.aro_changes import CHANGES
from tests.vectors.aro_cluster import Stage
from vestibule.aro import embedded
from vestibule.operator.workqueue import Queue

Json = dict[str, Any]
_KINDS = ("AROCluster", "AROControlPlane", "AROMachinePool")
_ROUNDS = 60


def run(vector: Json) -> Iterator[str]:
    """A run until something is reached, and the order in which it went."""
    stage = Stage(vector["objects"], {**_vaults(), **(vector.get("world") or {})})
    until = vector["action"]["until"]
    if until == "Cluster gone":
        for one in stage.objects.values():
            if one["kind"] == "Cluster":
                one["metadata"].setdefault("finalizers", ["cluster.cluster.x-k8s.io"])
            if one["kind"] == "MachinePool":
                one["metadata"].setdefault("finalizers", ["machinepool.cluster.x-k8s.io"])
        _delete_cluster(stage)
    play(stage)
    yield from _reached(until, stage)
    yield from _ordered(vector["expect"], stage.log)
    yield from changed(vector["expect"], stage)


def _reached(until: str, stage: Stage) -> Iterator[str]:
    """Whether the run came to where the case ends it: ``Kind gone`` or ``Kind.path`` that is true."""
    kind, _, path = until.removesuffix(" gone").partition(".")
    found = [one for one in stage.objects.values() if one["kind"] == kind]
    if until.endswith(" gone"):
        if found:
            yield f"never reached: {until}"
    elif not path or not any(embedded.value(one, path) for one in found):
        yield f"never reached: {until}"


def changed(want: Json, stage: Stage) -> Iterator[str]:
    """What a case says about objects after a whole run."""
    for wish, known in CHANGES.items():
        if wish in want:
            yield from (f"{wish}: {text}" for text in known(want[wish], stage))


def sequence(vector: Json) -> Iterator[str]:
    """Steps, one after the other."""
    steps, want = vector["action"]["steps"], vector["expect"]
    if "secondStepRuns" in want:
        yield from _own_queues(steps, want)
        return
    stage = Stage(vector["objects"], {**_vaults(), **(vector.get("world") or {})})
    for step in steps:
        yield from _step(stage, step)
    for wish, expected in want.items():
        if wish == "azureDeleted":
            yield from (f"{one} stays in Azure" for one in expected if one not in stage.in_azure_deleted)
        elif wish == "left":
            left = [
                f"{one['kind']}/{one['metadata']['name']}"
                for one in stage.objects.values()
                if embedded.of(one).group.endswith("azure.com")
            ]
            if left != expected:
                yield f"left: got {left}"
        elif wish == "gone":
            yield from (
                f"{one} is still there" for one in expected if stage.find(*one.split("/")) is not None
            )
        elif wish not in CHANGES:
            yield f"the case wants {wish}, which the runner does not know"
    yield from changed(want, stage)


_STEADY = {"run": "until steady", "restart": "controllers"}


def _step(stage: Stage, step: Json) -> Iterator[str]:
    for verb, what in step.items():
        if verb == "asoDeletesAfterSeconds":
            play(stage)  # the played operator deletes in the round after; the clock of a case does not count
        elif verb in _STEADY:
            if what != _STEADY[verb]:
                yield f"the runner knows no {verb} {what!r}"
            play(stage)  # decisions keep nothing between two passes, so a restart changes nothing
        elif verb in ("pause", "resume"):
            _cluster(stage, what)["spec"]["paused"] = verb == "pause"
            play(stage)
        elif verb == "delete":
            _delete_cluster(stage, what)
            play(stage)
        else:
            yield f"the runner knows no step {verb!r}"


def contract(vector: Json) -> Iterator[str]:
    """Conditions that Cluster API mirrors must be on each kind when all is up."""
    if vector["action"]["check"] != "conditions":
        yield f"the runner knows no contract about {vector['action']['check']!r}"
    stage = Stage(vector["objects"], {**_vaults(), **(vector.get("world") or {})})
    play(stage)
    for kind, expected in vector["expect"].items():
        found = [one for one in stage.objects.values() if one["kind"] == kind]
        if not found and kind != "AROMachinePool":
            yield f"no {kind} in the case"
        for one in found:
            types = {each["type"] for each in embedded.value(one, "status.conditions") or ()}
            yield from (f"{kind} has no condition {each}" for each in expected if each not in types)


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


def _cluster(stage: Stage, name: str) -> Json:
    found = stage.find(*name.split("/"))
    assert found is not None, name
    return found


def _delete_cluster(stage: Stage, name: str = "Cluster/c1") -> None:
    cluster = _cluster(stage, name)
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


def _own_queues(steps: list[Json], want: Json) -> Iterator[str]:
    """Each controller has a queue of its own: a name that one is done with is not kept from the other."""
    first, second = (str(step["reconcile"]).partition("/") for step in steps)
    if steps[0].get("result") != "done":
        yield f"the runner knows no result {steps[0].get('result')!r}"

    async def runs() -> bool:
        queues: dict[str, Queue[str]] = {kind: Queue(workers=1) for kind in _KINDS}
        queues[first[0]].add(f"default/{first[2]}", 10.0)  # as after a success
        queues[second[0]].add(f"default/{second[2]}")
        return len(queues[second[0]]) == 1

    found = asyncio.run(runs())
    if found is not want["secondStepRuns"]:
        yield f"the second step runs: {found}"
