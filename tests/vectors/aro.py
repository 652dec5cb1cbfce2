"""The aro family: decisions of ours against what the upstream controllers do, and what they should.

``upstream``, ``note`` and ``verified`` speak of others. ``applied`` means wanted by the pass: what stands
there already as wanted is not written again. A wish that the runner does not know is a failure.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from tests.vectors import aro_runs
from tests.vectors.aro_changes import CHANGES, as_applied
from tests.vectors.aro_cluster import Stage
from tests.vectors.aro_format import format_of
from vestibule.aro import embedded, eventhandlers, names, readiness, validation
from vestibule.aro.ports import ReconcileResult

__all__ = ["check", "format_of"]
Json = dict[str, Any]


def check(vector: Json) -> list[str]:
    """Everything in which we differ from the case."""
    action = vector["action"]
    checked = _CHECKS.get(action["type"])
    if checked is None:
        return [f"the runner knows no action {action['type']!r}"]
    return list(checked(vector))


# ── one pass ────────────────────────────────────────────────────────────────────────────────────────────────


def _reconcile(vector: Json) -> Iterator[str]:
    stage = Stage(vector["objects"], vector.get("world"))
    kind = vector["action"]["kind"]
    namespace, _, name = vector["action"]["key"].partition("/")
    created = stage.look(kind, namespace, name)
    subject = stage.find(kind, name) or {"metadata": {}, "status": {}}
    for wish, expected in vector["expect"].items():
        known = _WISHES.get(wish)
        if wish in CHANGES:
            yield from (f"{wish}: {text}" for text in CHANGES[wish](expected, stage))
        elif known is None:
            yield f"the case wants {wish}, which the runner does not know"
        else:
            yield from (f"{wish}: {text}" for text in known(expected, created, subject, stage))


def _outcome(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del subject, stage
    if made.outcome != wanted:
        yield f"got {made.outcome} ({made.message}), want {wanted}"


def _after(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del subject, stage
    if made.after != wanted:
        yield f"got {made.after}, want {wanted}"


def _applied(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del stage
    found = {(one["kind"], one["metadata"]["name"]): one for one in made.desired}
    if not wanted and found:
        yield f"got {sorted(found)}, want none"
    for one in wanted:
        live = found.get((one["kind"], one["name"]))
        if live is None:
            yield f"{one['kind']}/{one['name']} is not among {sorted(found)}"
            continue
        yield from as_applied(one, live, str(subject["metadata"]["uid"]))


def _not_applied(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del subject, stage
    found = {(one["kind"], one["metadata"]["name"]) for one in made.desired}
    yield from (f"{one} is applied" for one in wanted if (one["kind"], one["name"]) in found)


def _conditions(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del made, stage
    found = {one["type"]: one for one in embedded.value(subject, "status.conditions") or ()}
    for kind, fields in wanted.items():
        if kind not in found:
            yield f"{kind} is missing"
            continue
        for field, value in fields.items():
            if found[kind].get(field) != value:
                yield f"{kind}.{field}: got {found[kind].get(field)!r}, want {value!r}"


def _conditions_absent(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del made, stage
    found = {one["type"] for one in embedded.value(subject, "status.conditions") or ()}
    yield from (f"{one} is there" for one in wanted if one in found)


def _status(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del made, stage
    yield from _subset(wanted, subject.get("status") or {}, "status")


def _spec(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del made, stage
    yield from _subset(wanted, subject.get("spec") or {}, "spec")


def _metadata(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del made, stage
    meta = subject["metadata"]
    annotations = meta.get("annotations") or {}
    for key, value in wanted.items():
        if key == "annotations":
            yield from _subset(value, annotations, "annotations")
        elif key == "annotationsAbsent":
            yield from (f"{one} is there" for one in value if one in annotations)
        elif key == "annotationsPresent":
            yield from (f"{one} is missing" for one in value if one not in annotations)
        elif key == "finalizers":
            if (meta.get("finalizers") or []) != value:
                yield f"finalizers: got {meta.get('finalizers')}"
        else:
            yield f"the runner does not know {key} of the metadata"


def _annotations_on(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del made, subject
    for where, message in wanted.items():
        found = stage.find(*where.split("/")) or {"metadata": {}}
        yield from _subset(message, found["metadata"].get("annotations") or {}, where)


def _machine_pool(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del made, subject
    found = next(one for one in stage.objects.values() if one["kind"] == "MachinePool")
    annotations = found["metadata"].get("annotations") or {}
    for key, value in wanted.items():
        if key == "annotations":
            yield from _subset(value, annotations, "annotations")
        elif key == "annotationsAbsent":
            yield from (f"{one} is there" for one in value if one in annotations)
        elif key == "spec":
            yield from _subset(value, found["spec"], "spec")
        else:
            yield f"the runner does not know {key} of the MachinePool"


def _azure_calls(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del made, subject
    if len(wanted) != len(stage.azure):
        yield f"got {stage.azure}"
        return
    for want, got in zip(wanted, stage.azure, strict=True):
        yield from _subset(want, got, want["op"])


def _secrets(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del made, subject
    for name, want in wanted.items():
        found = stage.find("Secret", name)
        if found is None:
            yield f"{name} does not exist"
            continue
        for key, value in want.items():
            if key == "keys":
                if sorted(found["data"]) != sorted(value):
                    yield f"{name} has {sorted(found['data'])}"
            elif key == "key":
                if not found["data"].get(value):
                    yield f"{name} has no {value}"
            elif key == "type":
                if found.get("type") != value:
                    yield f"{name} is of type {found.get('type')}"
            elif key == "labels":
                yield from _subset(value, found["metadata"].get("labels") or {}, name)
            elif key == "annotationsPresent":
                existing = found["metadata"].get("annotations") or {}
                yield from (f"{name}: {one} is missing" for one in value if one not in existing)
            else:
                yield f"the runner does not know {key} of a Secret"


def _kubeconfig(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    del made
    cluster = subject["metadata"]["labels"][names.CLUSTER_NAME]
    found = stage.find("Secret", f"{cluster}-kubeconfig") or {"data": {"value": ""}}
    text = base64.b64decode(found["data"]["value"])
    entry = yaml.safe_load(text)["clusters"][0]["cluster"]
    for key, value in wanted.items():
        if entry.get(key, False) != value:
            yield f"{key}: got {entry.get(key)}"


def _watches(wanted: Any, made: ReconcileResult, subject: Json, stage: Stage) -> Iterator[str]:
    """Watches follow from the kinds that are acknowledged on the subject, at every moment."""
    del made, stage
    text = (subject["metadata"].get("annotations") or {}).get(names.OWNED_KINDS) or ""
    kinds = {one.kind for one in embedded.parse_owned(text)[0]}
    yield from (f"{kind} is not watched" for kind in wanted if kind not in kinds)


_WISHES: dict[str, Callable[[Any, ReconcileResult, Json, Stage], Iterator[str]]] = {
    "outcome": _outcome,
    "requeueAfterSeconds": _after,
    "applied": _applied,
    "notApplied": _not_applied,
    "conditions": _conditions,
    "conditionsAbsent": _conditions_absent,
    "status": _status,
    "spec": _spec,
    "metadata": _metadata,
    "annotationsOn": _annotations_on,
    "machinePool": _machine_pool,
    "azureCalls": _azure_calls,
    "secrets": _secrets,
    "kubeconfig": _kubeconfig,
    "watchesAdded": _watches,
}


def _subset(wanted: Any, found: Any, path: str) -> Iterator[str]:
    """What is wanted must be there; false and null mean absent as well."""
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            found = {}
        for key, value in wanted.items():
            yield from _subset(value, found.get(key), f"{path}.{key}")
    elif isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            yield f"{path}: got {found!r}, want {wanted!r}"
            return
        for index, (want, got) in enumerate(zip(wanted, found, strict=True)):
            yield from _subset(want, got, f"{path}[{index}]")
    elif wanted != found and not (not wanted and not found):
        yield f"{path}: got {found!r}, want {wanted!r}"


# ── readiness, mapping, admission ───────────────────────────────────────────────────────────────────────────


def _readiness(vector: Json) -> Iterator[str]:
    found = readiness.of(vector["action"]["object"]).ready
    if found is not vector["expect"]["ready"]:
        yield f"got {found}"


def _map(vector: Json) -> Iterator[str]:
    action = vector["action"]
    clusters = [one for one in vector["objects"] if one["kind"] == "Cluster"]
    found: set[str] = set()
    for one in (action["old"], action["new"]):
        watch = action["watch"]
        if watch == "AROControlPlane->AROCluster":
            keys = eventhandlers.control_plane(one, clusters)
        elif watch in ("AROCluster->AROControlPlane", "AROMachinePool->AROControlPlane"):
            keys = eventhandlers.sibling_control_plane(one, clusters)
        elif watch == "MachinePool->AROMachinePool":
            keys = eventhandlers.machine_pool(one)
        elif watch == "embedded->owner":
            keys = eventhandlers.inside(one)
        else:
            yield f"the runner knows no watch {watch!r}"
            return
        found |= {f"{namespace}/{name}" for _, namespace, name in keys}
    if sorted(found) != sorted(vector["expect"]["enqueued"]):
        yield f"got {sorted(found)}"


def _event(vector: Json) -> Iterator[str]:
    kind = vector["action"]["kind"]
    subject = next(one for one in vector["objects"] if one["kind"] == kind)
    if vector["action"]["event"] not in ("create", "update", "delete"):
        yield f"the runner knows no event {vector['action']['event']!r}"
    found = [f"{namespace}/{name}" for _, namespace, name in eventhandlers.own(subject)]
    if found != vector["expect"]["enqueued"]:
        yield f"got {found}"


def _admit(vector: Json) -> Iterator[str]:
    action, want = vector["action"], vector["expect"]
    stage = Stage(vector["objects"], vector.get("world"))
    found = validation.review(action["operation"], action["object"], action.get("oldObject"), stage)
    allowed = not found.errors
    if allowed is not want["allowed"]:
        yield f"allowed: got {allowed} ({found.errors})"
    if "errors" in want:
        got = sorted((one.path, one.type) for one in found.errors)
        expected = sorted((one["path"], one["type"]) for one in want["errors"])
        if got != expected:
            yield f"errors: got {got}, want {expected}"
    for text in want.get("warnings") or ():
        if not any(text in one for one in found.warnings):
            yield f"warnings: got {found.warnings}, want {text!r}"
    if want.keys() & CHANGES.keys():
        if allowed:  # what is admitted is what the controllers act on
            stage.put(action["object"])
            aro_runs.play(stage)
        yield from aro_runs.changed(want, stage)


_CHECKS: dict[str, Callable[[Json], Iterator[str]]] = {
    "reconcile": _reconcile,
    "readiness": _readiness,
    "map": _map,
    "event": _event,
    "admit": _admit,
    "run": aro_runs.run,
    "sequence": aro_runs.sequence,
    "contract": aro_runs.contract,
}
