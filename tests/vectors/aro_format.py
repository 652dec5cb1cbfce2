"""The keys of the aro family, by the type of the action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.vectors.formats import ANY, PROSE, Each, Format

Json = dict[str, Any]
_REF: Format = {"kind": ANY, "name": ANY}
_APPLIED: Format = {
    **dict.fromkeys(("kind", "name", "namespace", "controllerOwner", "fieldManager", "force"), ANY),
    "paths": Each(ANY),
}
_MARKS = {"annotations": Each(ANY), "annotationsAbsent": ANY}
_CHANGES: Mapping[str, Format] = {
    "created": [_APPLIED],
    "deleted": [_REF],
    "notDeleted": [_REF],
    "unchanged": [_REF],
    "namespaceMustNotReach": ANY,
}
"""About what happened to objects; every action with a cluster knows them."""
_FAULT: Format = {"error": ANY}
_WORLD: Format = {
    "keyvault": Each({"keys": Each({"current": ANY}), "createReturnsVersion": ANY, "getError": ANY}),
    "workloadNodes": [{"name": ANY, "labels": Each(ANY), "providerID": ANY}],
    "workloadError": ANY,
    "get": Each(_FAULT),
    "apply": Each(_FAULT),
}
_RECONCILE: Format = {
    **dict.fromkeys(("outcome", "requeueAfterSeconds", "conditionsAbsent", "watchesAdded"), ANY),
    "applied": [_APPLIED],
    "notApplied": [_REF],
    "conditions": Each(dict.fromkeys(("status", "reason", "message", "severity", "observedGeneration"), ANY)),
    "status": ANY,
    "spec": ANY,
    "metadata": {**_MARKS, "annotationsPresent": ANY, "finalizers": ANY},
    "annotationsOn": Each(Each(ANY)),
    "machinePool": {**_MARKS, "spec": ANY},
    "azureCalls": [
        dict.fromkeys(
            ("op", "resourceGroup", "vault", "key", "kty", "keySize", "result", "returnsVersion"), ANY
        )
    ],
    "secrets": Each({"keys": ANY, "key": ANY, "type": ANY, "labels": Each(ANY), "annotationsPresent": ANY}),
    "kubeconfig": Each(ANY),
    **_CHANGES,
}
_STEP: Format = dict.fromkeys(("run", "restart", "asoDeletesAfterSeconds", "pause", "resume", "delete"), ANY)
_QUEUED: Format = dict.fromkeys(("reconcile", "result", "afterSeconds"), ANY)
_ACTIONS: Mapping[str, tuple[Mapping[str, Format], Format]] = {
    "reconcile": ({"kind": ANY, "key": ANY}, _RECONCILE),
    "readiness": ({"object": ANY}, {"ready": ANY}),
    "map": ({"watch": ANY, "old": ANY, "new": ANY}, {"enqueued": ANY}),
    "event": ({"kind": ANY, "event": ANY}, {"enqueued": ANY}),
    "admit": (
        {"operation": ANY, "object": ANY, "oldObject": ANY},
        {"allowed": ANY, "errors": [{"path": ANY, "type": ANY}], "warnings": ANY, **_CHANGES},
    ),
    "run": ({"until": ANY}, {"order": ANY, "partialOrder": ANY, **_CHANGES}),
    "sequence": ({"steps": [_STEP]}, {"azureDeleted": ANY, "left": ANY, "gone": ANY, **_CHANGES}),
    "contract": ({"check": ANY}, dict.fromkeys(("AROCluster", "AROControlPlane", "AROMachinePool"), ANY)),
}
_QUEUES: tuple[Mapping[str, Format], Format] = ({"steps": [_QUEUED]}, {"secondStepRuns": ANY})


def format_of(vector: Json) -> Format:
    """The keys of a case."""
    action, expect = vector.get("action") or {}, vector.get("expect") or {}
    given, wished = _ACTIONS.get(action.get("type", ""), ({}, {}))
    if "secondStepRuns" in expect:
        given, wished = _QUEUES
    return {
        "name": ANY,
        **dict.fromkeys(("basis", "note", "verified", "upstream"), PROSE),
        "objects": ANY,
        "action": {"type": ANY, **given},
        "world": _WORLD,
        "expect": wished,
    }
