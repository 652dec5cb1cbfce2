"""Pods inside workloads: what the API server would send for admission if a document were applied.

A controller creates objects between a workload and its pods, so they are created here
(``companions``): the ReplicaSet of a Deployment, the Job of a CronJob, with owner references and uids that
agree. The ordinary walk from a pod to its owner then works as it does in a cluster.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from vestibule.admission import pointer
from vestibule.api import gvk
from vestibule.api.gvk import Kind
from vestibule.errors import InputProblem, InvalidInput
from vestibule.kube import manifest_object
from vestibule.kube.manifest_object import ManifestProblem, Path
from vestibule.yamledit.yaml_documents import YamlDocument

Json = dict[str, Any]

_TEMPLATE: Final[Path] = ("spec", "template")
TEMPLATES: Final[dict[Kind, Path]] = {
    gvk.POD: (),
    gvk.DEPLOYMENT: _TEMPLATE,
    gvk.STATEFUL_SET: _TEMPLATE,
    gvk.DAEMON_SET: _TEMPLATE,
    gvk.REPLICA_SET: _TEMPLATE,
    gvk.JOB: _TEMPLATE,
    gvk.CRON_JOB: ("spec", "jobTemplate", *_TEMPLATE),
}
"""The path of the pod template by kind."""
_BETWEEN: Final = {gvk.DEPLOYMENT: gvk.REPLICA_SET, gvk.CRON_JOB: gvk.JOB}
"""What a controller puts between the workload and its pods."""
_LEVELS: Final = (gvk.NAMESPACE, gvk.SERVICE_ACCOUNT)
_UIDS: Final = uuid.UUID("7f5a3a6c-3b0e-5b0a-9d2c-0e6b5d1f4a77")
"""Name space of synthetic uids: the same object has the same uid in every run."""


class PodTemplate(NamedTuple):
    """One pod that a document would bring into a cluster."""

    kind: str
    name: str
    namespace: str
    pointer: str
    """The JSON pointer of the pod template in the document; empty for a Pod."""
    place: str
    """``file:line`` of the workload."""
    pod: Json
    """The pod as the API server would send it."""
    companions: tuple[Json, ...]
    """The workload and what its controller makes: owners of the pod."""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def templates(
    document: YamlDocument, namespace: str = manifest_object.DEFAULT_NAMESPACE
) -> list[PodTemplate]:
    """The pods of a document, in order; objects that name no namespace are in this one.

    Raises InvalidInput with everything that the API server would refuse on the way to the pod.
    """
    found: list[PodTemplate] = []
    problems: list[InputProblem] = []
    for path, obj in _objects(document):
        flaws = [*manifest_object.flaws(obj), *_template_flaws(obj)]
        for flaw in flaws:
            where = (*path, *flaw.path)
            problems.append(InputProblem(document.place(*where), manifest_object.field(where), flaw.text))
        kind = manifest_object.kind_of(obj) if not flaws else None
        if kind in TEMPLATES:
            found.append(_template(kind, obj, path, document, namespace))
    if problems:
        raise InvalidInput(*problems)
    return found


def levels(
    documents: Iterable[YamlDocument], namespace: str = manifest_object.DEFAULT_NAMESPACE
) -> Iterator[Json]:
    """Namespaces and ServiceAccounts in the same input: they would be applied together with the pods."""
    for document in documents:
        for _, obj in _objects(document):
            kind = manifest_object.kind_of(obj)
            if kind in _LEVELS and not any(manifest_object.flaws(obj)):
                yield _placed(kind, obj, namespace)


def _objects(document: YamlDocument) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Everything in a document that looks like an object; the rest passes through as it is."""
    for path, obj in manifest_object.flattened(document.value):
        if isinstance(obj, Mapping) and isinstance(obj.get("kind"), str):
            yield path, obj


def _template_flaws(obj: Mapping[str, Any]) -> Iterator[ManifestProblem]:
    kind = manifest_object.kind_of(obj)
    if kind is None or kind not in TEMPLATES:
        return
    path = TEMPLATES[kind]
    for depth in range(1, len(path) + 1):
        if not isinstance(_at(obj, path[:depth]), Mapping):
            yield _wrong(path[:depth], _at(obj, path[:depth]))
            return
    if not isinstance(_at(obj, (*path, "spec")), Mapping):
        yield _wrong((*path, "spec"), _at(obj, (*path, "spec")))
    for end in range(
        2, len(path) + 1, 2
    ):  # spec.template; spec.jobTemplate and spec.jobTemplate.spec.template
        meta = (*path[:end], "metadata")
        yield from manifest_object.annotation_flaws(_at(obj, meta), meta)


def _wrong(path: Path, value: Any) -> ManifestProblem:
    return ManifestProblem(
        path, f"is {'missing' if value is None else manifest_object.shown(value)}, want a mapping"
    )


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _template(
    kind: Kind, obj: Mapping[str, Any], path: Path, document: YamlDocument, namespace: str
) -> PodTemplate:
    owner = _placed(kind, obj, namespace)
    meta = owner["metadata"]
    where = (*path, *TEMPLATES[kind])
    pod, companions = (owner, ()) if kind is gvk.POD else _controlled(kind, owner)
    return PodTemplate(
        kind.kind,
        meta.get("name") or meta.get("generateName", ""),
        meta["namespace"],
        pointer.pointer(*where),
        document.place(*path),
        {**pod, "apiVersion": "v1", "kind": "Pod"},
        companions,
    )


def _controlled(kind: Kind, workload: Json) -> tuple[Json, tuple[Json, ...]]:
    """The pod that a workload's controller would make, and the owners above it."""
    namespace = workload["metadata"]["namespace"]
    owners = [_identified(kind, workload)]
    between = _BETWEEN.get(kind)
    if between is not None:
        meta: Json = {"name": f"{owners[0]['metadata']['name']}-offline", "namespace": namespace}
        annotations = _at(workload, ("spec", "jobTemplate", "metadata", "annotations"))
        if annotations:
            meta["annotations"] = annotations
        meta["ownerReferences"] = [_reference(owners[0])]
        created = {"apiVersion": between.api_version, "kind": between.kind, "metadata": meta}
        owners.append(_identified(between, created))
    template = _at(workload, TEMPLATES[kind])
    pod_meta = {key: value for key, value in (template.get("metadata") or {}).items() if key != "name"}
    pod_meta |= {
        "namespace": namespace,
        "generateName": f"{owners[-1]['metadata']['name']}-",
        "ownerReferences": [_reference(owners[-1])],
    }
    return {"metadata": pod_meta, "spec": template["spec"]}, tuple(owners)


def _placed(kind: Kind, obj: Mapping[str, Any], namespace: str) -> Json:
    """A copy of the object with its namespace written out."""
    copied = copy.deepcopy(dict(obj))
    if kind.namespaced:
        meta = copied["metadata"]
        copied["metadata"] = {**meta, "namespace": meta.get("namespace") or namespace}
    return copied


def _identified(kind: Kind, obj: Json) -> Json:
    """The object with a name and a uid, its own where it has them."""
    meta = obj["metadata"]
    name = meta.get("name") or f"{meta['generateName']}offline"
    uid = meta.get("uid") or str(uuid.uuid5(_UIDS, f"{kind}/{meta['namespace']}/{name}"))
    return {**obj, "metadata": {**meta, "name": name, "uid": uid}}


def _reference(owner: Json) -> Json:
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def localised(
    document: YamlDocument, template: PodTemplate, operations: Iterable[Mapping[str, Any]]
) -> list[Json]:
    """Operations on the pod as operations on the document.

    A pod always has metadata; a template may lack it, so it is added first where an operation needs it.
    """
    result: list[Json] = []
    home = tuple(pointer.tokens(template.pointer))
    missing = not isinstance(_found(document.value, (*home, "metadata")), Mapping)
    for operation in operations:
        if missing and operation["path"].startswith("/metadata/"):
            result.append({"op": "add", "path": f"{template.pointer}/metadata", "value": {}})
            missing = False
        result.append({**operation, "path": template.pointer + operation["path"]})
    return result


def _found(value: Any, tokens: tuple[str, ...]) -> Any:
    for token in tokens:
        value = value[int(token)] if isinstance(value, list) else value.get(token)
    return value
