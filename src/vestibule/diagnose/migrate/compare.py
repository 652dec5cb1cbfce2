"""Each pod three times: as today's webhooks make it, as we do in ``strict``, and as we do in ``better``."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vestibule import errors
from vestibule.admission import apply
from vestibule.api import annotation_keys
from vestibule.diagnose.migrate import pod_diff
from vestibule.diagnose.migrate.installation import Object, selected
from vestibule.diagnose.migrate.pod_diff import PodChange, PodOutcome
from vestibule.diagnose.migrate.sources import WorkloadSource
from vestibule.diagnose.offline import inject
from vestibule.diagnose.offline.overlay import OverlayCluster
from vestibule.diagnose.offline.workloads import PodTemplate
from vestibule.injection.policy import Policy
from vestibule.kube.memory_cluster import MemoryCluster


class ComparedWebhook(NamedTuple):
    """A webhook: its selectors and its policy."""

    hook: Object
    policy: Policy


class WorkloadComparison(NamedTuple):
    """One workload."""

    name: str
    served: bool
    """Whether today's webhooks do anything to its pods."""
    strict: tuple[PodChange, ...]
    better: tuple[PodChange, ...]
    refused: str = ""
    """What its author would read in ``better``, where pods are admitted today."""


async def compare(
    template: PodTemplate,
    source: WorkloadSource,
    today: Sequence[ComparedWebhook],
    strict: ComparedWebhook,
    better: ComparedWebhook,
) -> WorkloadComparison | None:
    """What changes for one workload; None if no webhook mutates its pods. Raises Unavailable,
    Forbidden or InvalidInput when it cannot be decided."""
    before = await _through(template, source, today)
    same = await _through(template, source, [strict])
    after = await _through(template, source, [better])
    if not (before.touched or same.touched or after.touched):
        return None
    changed = tuple(pod_diff.changes(before, after))
    return WorkloadComparison(
        str(template),
        before.touched,
        tuple(pod_diff.changes(before, same)),
        changed,
        after.message if before.allowed and not after.allowed else "",
    )


async def _through(
    template: PodTemplate, source: WorkloadSource, sides: Sequence[ComparedWebhook]
) -> PodOutcome:
    """A pod through webhooks, one after the other."""
    outcome = PodOutcome(template.pod)
    for side in sides:
        current = template._replace(pod=copy.deepcopy(dict(outcome.pod)))
        if not selected(side.hook, _labels(current), _namespace_labels(current, source)):
            continue
        around = OverlayCluster(MemoryCluster(template.companions), source.around)
        try:
            verdict = await inject.decide(current, around, side.policy)
        except errors.MalformedReview as error:
            raise errors.InvalidInput(*error.problems) from error
        pod = current.pod
        if verdict.patch:
            apply.patch(pod, json.loads(verdict.patch))
        findings = (*outcome.findings, *verdict.findings)
        warned = any(finding.severity != "info" for finding in verdict.findings)
        touched = outcome.touched or warned or bool(verdict.patch) or not verdict.allowed
        outcome = PodOutcome(pod, verdict.allowed, verdict.message, findings, touched)
        if not verdict.allowed:
            return outcome
    return outcome


def _labels(template: PodTemplate) -> Mapping[str, str]:
    found: Mapping[str, str] = template.pod["metadata"].get("labels") or {}
    return found


def _namespace_labels(template: PodTemplate, source: WorkloadSource) -> Mapping[str, str]:
    # every namespace has this label, in a file it is seldom written
    return {annotation_keys.NAMESPACE_NAME_LABEL: template.namespace, **source.labels(template.namespace)}
