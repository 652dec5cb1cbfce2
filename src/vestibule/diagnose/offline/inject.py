"""The webhook's decision for every pod in the user's files, and the files as they look afterwards.

The same code from review to verdict as in the webhook; only the reading differs. Nothing is written, neither
to the files nor to the cluster: objects that the webhook would apply are returned with the files.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from vestibule.admission import review as reviews
from vestibule.admission.verdict import Verdict
from vestibule.diagnose.offline import manifest_files, workloads
from vestibule.diagnose.offline.manifest_files import ManifestFile
from vestibule.diagnose.offline.overlay import OverlayCluster, ReadableCluster
from vestibule.diagnose.offline.workloads import Json, PodTemplate
from vestibule.errors import Forbidden, InputProblem, InvalidInput, MalformedReview, Unavailable
from vestibule.injection import pipeline
from vestibule.injection.policy import Policy
from vestibule.kube import fact_reader, manifest_object
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.yamledit.yaml_documents import YamlDocument


class PodResult(NamedTuple):
    """What was decided about one pod."""

    template: PodTemplate
    verdict: Verdict
    operations: tuple[Json, ...]
    """The patch, as operations on the document that holds the pod."""
    before: YamlDocument
    after: YamlDocument
    """The document with this patch, and with those of the pods before it in the same document."""

    @property
    def pod_operations(self) -> list[Json]:
        """The patch as the API server would get it: operations on the pod."""
        return _operations(self.verdict)


class InjectionResult(NamedTuple):
    """All files before and after, and what was decided on the way."""

    before: tuple[ManifestFile, ...]
    after: tuple[ManifestFile, ...]
    results: tuple[PodResult, ...]
    objects: tuple[Json, ...]
    """What the webhook would have applied to the cluster, where the files do not hold it already."""

    @property
    def refused(self) -> bool:
        """Whether a pod would not be admitted."""
        return any(not result.verdict.allowed for result in self.results)


def run(
    files: Sequence[ManifestFile],
    cluster: ReadableCluster | None,
    policy: Policy,
    namespace: str = manifest_object.DEFAULT_NAMESPACE,
) -> InjectionResult:
    """Decide every pod in these files; objects that name no namespace are in this one.

    Raises InvalidInput with the problems of all documents, LookupFailed or Forbidden when the cluster cannot
    be read.
    """
    found = _templates(files, namespace)
    present = [document for file in files for document in file.documents]
    above = MemoryCluster(workloads.levels(present, namespace))
    for template in (template for templates in found.values() for template in templates):
        for companion in template.companions:
            above.put(companion)
    return asyncio.run(_run_and_close(files, found, OverlayCluster(above, cluster), policy))


Where = tuple[int, int]
"""Positions of the file and of the document in it."""


def _templates(files: Sequence[ManifestFile], namespace: str) -> dict[Where, list[PodTemplate]]:
    found: dict[Where, list[PodTemplate]] = {}
    problems: list[InputProblem] = []
    for where, document in _numbered(files):
        try:
            found[where] = workloads.templates(document, namespace)
        except InvalidInput as error:
            problems.extend(error.problems)
    if problems:
        raise InvalidInput(*problems)
    return found


async def _run_and_close(
    files: Sequence[ManifestFile],
    found: dict[Where, list[PodTemplate]],
    cluster: OverlayCluster,
    policy: Policy,
) -> InjectionResult:
    try:
        return await _run(files, found, cluster, policy)
    finally:
        await cluster.close()


async def _run(
    files: Sequence[ManifestFile],
    found: dict[Where, list[PodTemplate]],
    cluster: OverlayCluster,
    policy: Policy,
) -> InjectionResult:
    results: list[PodResult] = []
    problems: list[InputProblem] = []
    changed: dict[Where, YamlDocument] = {}
    for where, document in _numbered(files):
        current = document
        for template in found[where]:
            try:
                verdict = await decide(template, cluster, policy)
            except MalformedReview as error:
                problems += [_placed(problem, template) for problem in error.problems]
                continue
            operations = workloads.localised(current, template, _operations(verdict))
            after = manifest_files.patched(current, operations)
            results.append(PodResult(template, verdict, tuple(operations), document, after))
            current = after
        changed[where] = current
    if problems:
        raise InvalidInput(*problems)
    after_files = tuple(
        ManifestFile(file.name, tuple(changed[index, at] for at in range(len(file.documents))))
        for index, file in enumerate(files)
    )
    return InjectionResult(tuple(files), after_files, tuple(results), tuple(_objects(files, results)))


async def decide(template: PodTemplate, cluster: ReadableCluster, policy: Policy) -> Verdict:
    """The verdict about one pod. Raises MalformedReview, and LookupFailed or Forbidden for a failed read."""
    body = _review(template)
    request = reviews.decode(body).request
    verdict = pipeline.early(request, policy)
    if verdict is not None or request.object is None:
        return verdict or pipeline.failed(policy)
    try:
        facts = await fact_reader.facts(request, request.object, policy.rules, cluster, cluster)
    except (Unavailable, Forbidden) as error:
        return pipeline.failed(policy, error)
    return pipeline.decide(request, facts, policy, body)


def _review(template: PodTemplate) -> bytes:
    """The review that the API server would send."""
    request: Json = {
        "uid": "offline",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "userInfo": {"username": "offline"},
        "namespace": template.namespace,
        "object": template.pod,
    }
    return json.dumps(
        {"apiVersion": reviews.API_VERSIONS[0], "kind": "AdmissionReview", "request": request}
    ).encode()


def _placed(problem: InputProblem, template: PodTemplate) -> InputProblem:
    """A problem of a review as a problem of the pod's file."""
    field = problem.field.removeprefix("request.object.")
    return InputProblem(template.place, " ".join(filter(None, (str(template), field))), problem.text)


def _operations(verdict: Verdict) -> list[Json]:
    operations: list[Json] = json.loads(verdict.patch) if verdict.patch else []
    return operations


def _objects(files: Sequence[ManifestFile], results: Sequence[PodResult]) -> Iterator[Json]:
    """Objects to apply, each once, without those that the files already contain."""
    seen: list[Any] = [
        obj for _, document in _numbered(files) for _, obj in manifest_object.flattened(document.value)
    ]
    for effect in (effect for result in results for effect in result.verdict.effects):
        if effect.object not in seen:
            seen.append(effect.object)
            yield dict(effect.object)


def _numbered(files: Sequence[ManifestFile]) -> Iterator[tuple[Where, YamlDocument]]:
    for index, file in enumerate(files):
        for at, document in enumerate(file.documents):
            yield (index, at), document
