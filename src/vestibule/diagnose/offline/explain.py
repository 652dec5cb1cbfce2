"""Why a pod gets what it gets: every value with its origin, everything added, everything missing.

Data only; the command line makes tables of it. What was added is read off the patch itself, so it cannot
differ from what the pod would get.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from vestibule.admission import apply, pointer
from vestibule.admission.verdict import Finding, MissingIdentity, ResolvedValue
from vestibule.diagnose.offline.inject import InjectionResult, PodResult
from vestibule.diagnose.offline.workloads import Json

REASONS: Final = {
    "already-injected": "everything asked for is in the pod already",
    "host-network": "pods on the host network are excluded by the settings",
    "invalid": "an annotation has a value that cannot be used",
    "fault": "something that the decision needs could not be read",
    "mirror-pod": "mirror pods of static pods are never changed",
    "namespace-excluded": "the namespace is excluded by the settings",
    "not-a-create": "only the creation of pods is mutated",
    "switched-off": "an annotation says 'false'",
    "not-a-pod": "only pods are mutated",
    "nothing-asked": "no annotation on pod, owner, ServiceAccount or namespace asks for anything",
    "nothing-injected": "what was asked for could not be given; see the findings",
    "required": "an identity is required and cannot be given; see the findings",
    "unconfigured": "an identity is asked for, but values are missing",
}
"""Every reason of a verdict as a sentence."""


class AddedPart(NamedTuple):
    """One thing in the patch."""

    where: str
    """``volume``, ``annotation``, ``label``, ``init container``, ``container app env``, ``container app
    mount`` …"""
    name: str
    provider: str
    """``gcp``, ``aws``, ``az``; empty for what belongs to none or to several."""
    origin: str = ""
    """The object that a part of a sandbox comes from; parts of an identity come from many."""


class Explanation(NamedTuple):
    """Everything a person may want to know about one pod."""

    object: str
    place: str
    outcome: str
    reason: str
    """Why nothing was done, as a sentence; empty when something was."""
    message: str
    """What the author of a refused pod reads."""
    values: tuple[ResolvedValue, ...]
    added: tuple[AddedPart, ...]
    missing: tuple[MissingIdentity, ...]
    findings: tuple[Finding, ...]


def explain(injected: InjectionResult) -> list[Explanation]:
    """One explanation for each pod, in the order of the files."""
    return [_explanation(result) for result in injected.results]


def _explanation(result: PodResult) -> Explanation:
    verdict = result.verdict
    return Explanation(
        str(result.template),
        result.template.place,
        verdict.outcome,
        REASONS.get(verdict.reason, verdict.reason),
        verdict.message,
        verdict.values,
        tuple(_with_origins(added(result.template.pod, result.pod_operations), verdict.values)),
        verdict.missing,
        verdict.findings,
    )


def _with_origins(elements: Iterable[AddedPart], values: Sequence[ResolvedValue]) -> Iterator[AddedPart]:
    """The things, each with the object whose value it is, where it is one."""
    named = {found.key: found.object for found in values}
    for element in elements:
        keys = {
            "label": f"label {element.name}",
            "annotation": element.name,
            "field": element.name.split(".")[-1],
        }
        yield element._replace(origin=named.get(keys.get(element.where, ""), ""))


def added(pod: Json, operations: list[Json]) -> Iterator[AddedPart]:
    """What the operations add to the pod, thing by thing."""
    current = copy.deepcopy(pod)
    for operation in copy.deepcopy(operations):
        apply.patch(current, [operation])
        yield from _added_parts(pointer.tokens(operation["path"]), operation.get("value"), current)


def _added_parts(steps: list[str], value: Any, pod: Json) -> Iterator[AddedPart]:
    match steps:
        case ["metadata", ("annotations" | "labels") as field]:
            for key in value:
                yield _added(field.removesuffix("s"), key)
        case ["metadata", ("annotations" | "labels") as field, key]:
            yield _added(field.removesuffix("s"), key)
        case ["spec", ("volumes" | "initContainers" | "containers") as field, *rest] if len(rest) <= 1:
            for element in value if not rest else [value]:
                yield _added(_NOUNS[field], element["name"])
        case [
            "spec",
            ("initContainers" | "containers") as field,
            index,
            ("env" | "volumeMounts") as what,
            *rest,
        ]:
            home = _container(pod, field, index)
            for element in value if not rest else [value]:
                if what == "env":
                    yield _added(f"{home} env", element["name"])
                else:
                    yield _added(f"{home} mount", element["mountPath"], element["name"])
        case ["spec", ("initContainers" | "containers") as field, index, "resources"]:
            yield _added("field", f"{_container(pod, field, index)}.resources")
        case _:
            yield _added("field", ".".join(steps))


def _container(pod: Json, field: str, index: str) -> str:
    return f"{_NOUNS[field]} {pod['spec'][field][int(index)]['name']}"


_NOUNS: Final = {"volumes": "volume", "initContainers": "init container", "containers": "container"}
_PROVIDERS: Final = (
    ("cwii-gcp", "gcp"),
    ("cwii.dev/gcp", "gcp"),
    ("GOOGLE_", "gcp"),
    ("CLOUDSDK_", "gcp"),
    ("cwii-aws", "aws"),
    ("AWS_", "aws"),
    ("cwii-az", "az"),
    ("AZURE_", "az"),
)
"""Beginnings of the names that we add, with the cloud they belong to."""


def _added(where: str, name: str, known_by: str = "") -> AddedPart:
    sign = known_by or name
    return AddedPart(where, name, next((cloud for start, cloud in _PROVIDERS if sign.startswith(start)), ""))


def as_json(explanations: list[Explanation]) -> list[Json]:
    """The explanations as plain data for ``-o json``."""
    return [
        {
            "object": one.object,
            "place": one.place,
            "outcome": one.outcome,
            "reason": one.reason,
            "message": one.message,
            "values": [
                {
                    "key": found.key,
                    "value": found.value,
                    "level": found.level,
                    "from": found.object,
                    "shadowed": [{"from": where, "value": value} for where, value in found.shadowed],
                }
                for found in one.values
            ],
            "added": [
                {
                    "where": element.where,
                    "name": element.name,
                    "provider": element.provider,
                    "from": element.origin,
                }
                for element in one.added
            ],
            "missing": [
                {"provider": gap.provider, "keys": list(gap.keys), "advice": gap.advice}
                for gap in one.missing
            ],
            "findings": [finding._asdict() for finding in one.findings],
        }
        for one in explanations
    ]
