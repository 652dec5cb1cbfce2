"""The offline path over a vector: the same pod comes out of the file, and a second pass changes nothing."""

from __future__ import annotations

import json
from typing import Any

from tests.vectors import case
from vestibule.api.settings import schema
from vestibule.diagnose.offline import inject
from vestibule.diagnose.offline.manifest_files import ManifestFile
from vestibule.injection.policy import Policy, compile_policy
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.yamledit import yaml_documents

Json = dict[str, Any]


def compare(
    pod: Json,
    objects: list[Json],
    wanted: schema.Settings,
    answer: case.Answer,
    namespace: str = "team-a",
    policy: Policy | None = None,
) -> list[str]:
    """Everything in which the offline path differs from the answer of the handler."""
    policy = policy or compile_policy(wanted)
    cluster = MemoryCluster(objects)
    first = inject.run([_file(pod)], cluster, policy, namespace)
    problems = []
    verdict = first.results[0].verdict
    if verdict.allowed != answer.response["allowed"]:
        problems.append(f"offline: allowed is {verdict.allowed}")
    got = first.after[0].documents[0].value
    if answer.response["allowed"] and got != answer.pod:
        problems.append(f"offline: pod is {got!r}")
    if json.loads(first.after[0].text) != got:
        problems.append("offline: the text does not mean what the value says")
    second = inject.run(first.after, cluster, policy, namespace)
    if verdict.allowed and second.after[0].text != first.after[0].text:
        problems.append("offline: a second pass changed the file")
    return problems


def _file(pod: Json) -> ManifestFile:
    documents, problems = yaml_documents.documents("vector.json", json.dumps(pod, indent=2) + "\n")
    if problems:
        raise AssertionError(problems)
    return ManifestFile("vector.json", tuple(documents))
