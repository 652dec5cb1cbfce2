"""Manifests of ARO HCP clusters, read from files, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, BinaryIO, Final, NamedTuple

from vestibule import errors
from vestibule.api import aso
from vestibule.aro import crossrefs, embedded, identities, names, validation
from vestibule.aro.crossrefs import ClusterManifests
from vestibule.aro.embedded import Object
from vestibule.aro.manifest_reader import ManifestReader
from vestibule.yamledit import yaml_documents
from vestibule.yamledit.yaml_documents import YamlDocument

OPERATOR_NAMESPACE: Final = "vestibule-system"
"""The operator's default namespace."""


class AroManifests(NamedTuple):
    """What the files hold."""

    objects: list[Object]
    documents: dict[int, YamlDocument]
    """By the id of the object."""
    permitted: aso.PermittedKinds = aso.STANDARD
    """The kinds that may be embedded."""

    @property
    def families(self) -> list[ClusterManifests]:
        """The clusters."""
        return crossrefs.families(self.objects, self.permitted)

    @property
    def identities(self) -> list[Object]:
        """Every AzureClusterIdentity."""
        kinds = (names.INFRASTRUCTURE, names.IDENTITY.kind)
        return [one for one in self.objects if embedded.of(one)[::2] == kinds]

    def place(self, obj: Object, path: str) -> str:
        """``file:line`` of a field, or of what is nearest above it."""
        document = self.documents.get(id(obj))
        if document is None:
            return ""
        steps = [int(one) if one.isdigit() else one for one in re.findall(r"[^.\[\]]+", path)]
        return document.place(*steps)


class AroFinding(NamedTuple):
    """One thing that is wrong, or unwise."""

    severity: str
    """``error`` or ``warning``."""
    place: str
    object: str
    field: str
    text: str

    def __str__(self) -> str:
        where = f"{self.object} {self.field}".strip()
        return f"{self.place}: {self.severity}: {where}: {self.text}".removeprefix(": ")


def read(
    sources: Sequence[str],
    stdin: BinaryIO,
    namespace: str = "default",
    permitted: aso.PermittedKinds = aso.STANDARD,
) -> AroManifests:
    """All objects of the files. Raises InvalidInput with every problem; objects without a namespace get
    the one given. ``permitted`` are the kinds that may be embedded."""
    found = AroManifests([], {}, permitted)
    problems: list[errors.InputProblem] = []
    for source in sources:
        try:
            for name, text in yaml_documents.named(source, stdin):
                documents, wrong = yaml_documents.documents(name, text)
                problems += wrong
                for document in documents:
                    for obj in _objects(document.value):
                        problems += _taken(found, document, obj, namespace)
        except errors.InvalidInput as error:
            problems += error.problems
    if problems:
        raise errors.InvalidInput(*problems)
    if not found.identities:
        require_cluster(found, sources)
    return found


def require_cluster(found: AroManifests, sources: Sequence[str]) -> None:
    """Raises InvalidInput when the files hold nothing of a cluster."""
    if not found.families and not any(one.get("kind") in crossrefs.ARO for one in found.objects):
        want = "want a Cluster with AROCluster, AROControlPlane and AROMachinePool"
        raise errors.InvalidInput(
            errors.InputProblem(", ".join(sources), "", f"hold no ARO HCP cluster, {want}")
        )


def _objects(value: Any) -> list[Any]:
    if isinstance(value, dict) and value.get("kind") == "List":
        return list(value.get("items") or ())
    return [] if value is None else [value]


def _taken(
    found: AroManifests, document: YamlDocument, obj: Any, namespace: str
) -> list[errors.InputProblem]:
    place = document.place()
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict):
        return [
            errors.InputProblem(place, "", "is no object of Kubernetes, want apiVersion, kind and metadata")
        ]
    if not isinstance(obj["metadata"].get("name"), str):
        return [errors.InputProblem(place, "metadata.name", "is missing, want a name")]
    obj["metadata"].setdefault("namespace", namespace)
    found.objects.append(obj)
    found.documents[id(obj)] = document
    return []


def check(found: AroManifests, operator: str = OPERATOR_NAMESPACE) -> list[AroFinding]:
    """Every rule over every object, and what does not fit between them. ``operator`` is the namespace of the
    operator, in which identities may use its own account and files."""
    reader = ManifestReader(found.objects, permitted=found.permitted)
    result: list[AroFinding] = []
    for obj in found.identities:
        result += [
            AroFinding("error", found.place(obj, field), _describe(obj), field, text)
            for field, text in identities.problems(obj, operator)
        ]
    for obj in found.objects:
        if obj.get("kind") not in crossrefs.ARO:
            continue
        reviewed = validation.review("CREATE", obj, None, reader)
        name = _describe(obj)
        result += [
            AroFinding("error", found.place(obj, one.path), name, one.path, one.text)
            for one in reviewed.errors
        ]
        result += [AroFinding("warning", found.place(obj, ""), name, "", text) for text in reviewed.warnings]
    for each in found.families:
        for one in crossrefs.mismatches(each, found.objects):
            severity = "error" if one.error else "warning"
            result.append(
                AroFinding(
                    severity, found.place(one.object, one.path), _describe(one.object), one.path, one.text
                )
            )
    return list(dict.fromkeys(result))


def _describe(obj: Object) -> str:
    meta = obj["metadata"]
    return f"{obj['kind']} {meta['namespace']}/{meta['name']}"
