"""Manifests to findings: the rules over every object, and the webhook's own decision over every pod, each
with file, line and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vestibule.api import gvk
from vestibule.diagnose.lint import rules
from vestibule.diagnose.lint.rules import LintRule, Path, Severity
from vestibule.diagnose.offline import inject, workloads
from vestibule.diagnose.offline.inject import PodResult
from vestibule.diagnose.offline.manifest_files import ManifestFile
from vestibule.diagnose.offline.overlay import ReadableCluster
from vestibule.injection.policy import Policy
from vestibule.kube import manifest_object
from vestibule.yamledit.yaml_documents import YamlDocument


class LintFinding(NamedTuple):
    rule: LintRule
    severity: Severity
    file: str
    line: int
    object: str
    text: str
    advice: str

    def __str__(self) -> str:
        head = f"{self.file}:{self.line}: {self.severity}: {self.object}: {self.text}"
        return f"{head}; {self.advice} [{self.rule.id}]" if self.advice else f"{head} [{self.rule.id}]"


def run(
    files: Sequence[ManifestFile], cluster: ReadableCluster | None, policy: Policy, namespace: str
) -> list[LintFinding]:
    """All findings, by file and line. Raises InvalidInput for documents that cannot be read at all."""
    found = [
        finding for file in files for document in file.documents for finding in _objects(document, namespace)
    ]
    injected = inject.run(files, cluster, policy, namespace)
    places = _ObjectPositions(files, namespace)
    for result in injected.results:
        found += _decided(result, places)
        if cluster is None:
            found += _accounts(result, places)
    order = {"error": 0, "warning": 1, "note": 2}
    near = {(one.file, one.line) for one in found if one.rule is rules.NEAR_MISS}
    unique = dict.fromkeys(  # pods of one ServiceAccount have the same findings
        one
        for one in found
        if one.rule is not rules.DECISION_WARNS
        or (one.file, one.line) not in near
        or "no known key" not in one.text
    )
    return sorted(unique, key=lambda one: (one.file, one.line, order[one.severity], one.rule.id, one.text))


class _ObjectPositions:
    """File and line of every object."""

    def __init__(self, files: Sequence[ManifestFile], namespace: str) -> None:
        self._found: dict[str, tuple[YamlDocument, Path]] = {}
        for file in files:
            for document in file.documents:
                for path, obj in manifest_object.flattened(document.value):
                    if isinstance(obj, dict) and isinstance(obj.get("metadata"), dict):
                        self._found.setdefault(_name(obj, namespace), (document, path))

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def of(self, name: str, key: str) -> tuple[str, int] | None:
        """File and line of an annotation of an object, or of the object."""
        if name not in self._found:
            return None
        document, path = self._found[name]
        return _place(document, (*path, "metadata", "annotations", key) if key else path)


def _objects(document: YamlDocument, namespace: str) -> Iterator[LintFinding]:
    for path, obj in manifest_object.flattened(document.value):
        if not isinstance(obj, dict):
            continue
        kind = gvk.BY_KIND.get(str(obj.get("kind")))
        template = workloads.TEMPLATES.get(kind) if kind else None
        for flaw in rules.flaws(obj, template or None):
            file, line = _place(document, (*path, *flaw.path))
            yield LintFinding(
                flaw.rule, flaw.severity, file, line, _name(obj, namespace), flaw.text, flaw.advice
            )


def _decided(result: PodResult, places: _ObjectPositions) -> Iterator[LintFinding]:
    verdict, template = result.verdict, result.template
    file, _, line = template.place.rpartition(":")
    here = (file, int(line))
    for finding in verdict.findings:
        if finding.severity == "info":
            continue
        refused = finding.severity == "refuse"
        place = places.of(finding.object, finding.key) or _in_template(result, finding.key) or here
        yield LintFinding(
            rules.DECISION_REFUSES if refused else rules.DECISION_WARNS,
            "error" if refused else "warning",
            *place,
            str(template),
            finding.text,
            "",
        )
    if not verdict.allowed and not any(finding.severity == "refuse" for finding in verdict.findings):
        yield LintFinding(rules.DECISION_REFUSES, "error", *here, str(template), verdict.message, "")
    for gap in verdict.missing:
        keys = " and ".join(gap.keys)
        text = f"{gap.provider} identity is requested, but {keys} is missing"
        yield LintFinding(rules.MISSING, "error", *here, str(template), text, gap.advice)


def _in_template(result: PodResult, key: str) -> tuple[str, int] | None:
    """The place of a key in the pod template itself."""
    if not key:
        return None
    steps = tuple(step for step in result.template.pointer.split("/") if step)
    path: Path = tuple(int(step) if step.isdigit() else step for step in steps)
    pod = result.template.pod
    if key not in (pod.get("metadata", {}).get("annotations") or {}):
        return None
    return _place(result.before, (*path, "metadata", "annotations", key))


def _accounts(result: PodResult, places: _ObjectPositions) -> Iterator[LintFinding]:
    """A pod that gets nothing may lack only the file with its ServiceAccount."""
    template = result.template
    account = template.pod["spec"].get("serviceAccountName")
    name = f"ServiceAccount {template.namespace}/{account}"
    if account and account != "default" and name not in places and not result.verdict.providers:
        file, _, line = template.place.rpartition(":")
        text = f"{name} is in none of the files, so its annotations are unknown"
        yield LintFinding(
            rules.NO_ACCOUNT, "note", file, int(line), str(template), text, "add its file, or --cluster DIR"
        )


def _place(document: YamlDocument, path: Path) -> tuple[str, int]:
    file, _, line = document.place(*path).rpartition(":")
    return file, int(line)


def _name(obj: dict[str, object], namespace: str) -> str:
    meta = obj.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    kind = str(obj.get("kind", ""))
    known = gvk.BY_KIND.get(kind)
    name = str(meta.get("name") or meta.get("generateName") or "")
    if known is not None and not known.namespaced:
        return f"{kind} {name}"
    return f"{kind} {meta.get('namespace') or namespace}/{name}"
