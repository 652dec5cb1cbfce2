"""Manifests of ARO HCP clusters, read from files, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

from vestibule import errors
from vestibule.adapters.cluster import yamltext
from vestibule.adapters.cluster.yamltext import Document
from vestibule.core.aro import admission, family
from vestibule.core.aro.embedded import Object
from vestibule.core.aro.family import Family
from vestibule.core.aro.shelf import Shelf
from vestibule.core.kinds import asokinds


class Read(NamedTuple):
    """What the files hold."""

    objects: list[Object]
    documents: dict[int, Document]
    """By the id of the object."""

    @property
    def families(self) -> list[Family]:
        """The clusters."""
        return family.families(self.objects)

    def place(self, obj: Object, path: str) -> str:
        """``file:line`` of a field, or of what is nearest above it."""
        document = self.documents.get(id(obj))
        if document is None:
            return ""
        steps = [int(one) if one.isdigit() else one for one in re.findall(r"[^.\[\]]+", path)]
        return document.place(*steps)


class Finding(NamedTuple):
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


def read(sources: Sequence[str], stdin: BinaryIO, namespace: str = "default") -> Read:
    """All objects of the files. Raises InvalidInput with every problem; objects without a namespace get
    the one given."""
    found = Read([], {})
    problems: list[errors.Problem] = []
    for source in sources:
        try:
            for name, text in yamltext.named(source, stdin):
                documents, wrong = yamltext.documents(name, text)
                problems += wrong
                for document in documents:
                    for obj in _objects(document.value):
                        problems += _taken(found, document, obj, namespace)
        except errors.InvalidInput as error:
            problems += error.problems
    if problems:
        raise errors.InvalidInput(*problems)
    if not found.families and not any(one.get("kind") in family.ARO for one in found.objects):
        want = "want a Cluster with AROCluster, AROControlPlane and AROMachinePool"
        raise errors.InvalidInput(errors.Problem(", ".join(sources), "", f"hold no ARO HCP cluster, {want}"))
    return found


def _objects(value: Any) -> list[Any]:
    if isinstance(value, dict) and value.get("kind") == "List":
        return list(value.get("items") or ())
    return [] if value is None else [value]


def _taken(found: Read, document: Document, obj: Any, namespace: str) -> list[errors.Problem]:
    place = document.place()
    if not isinstance(obj, dict) or not isinstance(obj.get("metadata"), dict):
        return [errors.Problem(place, "", "is no object of Kubernetes, want apiVersion, kind and metadata")]
    if not isinstance(obj["metadata"].get("name"), str):
        return [errors.Problem(place, "metadata.name", "is missing, want a name")]
    obj["metadata"].setdefault("namespace", namespace)
    found.objects.append(obj)
    found.documents[id(obj)] = document
    return []


def check(found: Read, permitted: asokinds.Permitted = asokinds.STANDARD) -> list[Finding]:
    """Every rule over every object, and what does not fit between them; ``permitted`` are the kinds that may
    be embedded."""
    world = Shelf(found.objects, permitted=permitted)
    result: list[Finding] = []
    for obj in found.objects:
        if obj.get("kind") not in family.ARO:
            continue
        reviewed = admission.review("CREATE", obj, None, world)
        said = _said(obj)
        result += [
            Finding("error", found.place(obj, one.path), said, one.path, one.text) for one in reviewed.errors
        ]
        result += [Finding("warning", found.place(obj, ""), said, "", text) for text in reviewed.warnings]
    for each in found.families:
        for one in family.mismatches(each, found.objects):
            severity = "error" if one.error else "warning"
            result.append(
                Finding(severity, found.place(one.object, one.path), _said(one.object), one.path, one.text)
            )
    return list(dict.fromkeys(result))


def _said(obj: Object) -> str:
    meta = obj["metadata"]
    return f"{obj['kind']} {meta['namespace']}/{meta['name']}"
