"""Each pod three times: as today's webhooks make it, as we do in ``strict``, and as we do in ``better``."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vestibule import errors
from vestibule.adapters.cluster.memory import MemoryCluster
from vestibule.apps.migrate.source import Source
from vestibule.apps.offline import inject
from vestibule.apps.offline.overlay import Overlay
from vestibule.apps.offline.workloads import Template
from vestibule.core.admission import apply
from vestibule.core.kinds import vocabulary
from vestibule.core.migrate import difference
from vestibule.core.migrate.difference import Change, Outcome
from vestibule.core.migrate.installation import Object, selected
from vestibule.core.mutation.policy import Policy


class Side(NamedTuple):
    """A webhook: whom it is sent, and what it does."""

    hook: Object
    policy: Policy


class Compared(NamedTuple):
    """One workload."""

    name: str
    served: bool
    """Whether today's webhooks do anything to its pods."""
    strict: tuple[Change, ...]
    better: tuple[Change, ...]
    refused: str = ""
    """What its author would read in ``better``, where pods are admitted today."""


async def compare(
    template: Template, source: Source, today: Sequence[Side], strict: Side, better: Side
) -> Compared | None:
    """What changes for one workload; None when nobody does anything to its pods. Raises Unavailable,
    Forbidden or InvalidInput when it cannot be decided."""
    before = await _through(template, source, today)
    same = await _through(template, source, [strict])
    after = await _through(template, source, [better])
    if not (before.touched or same.touched or after.touched):
        return None
    changed = tuple(difference.changes(before, after))
    return Compared(
        str(template),
        before.touched,
        tuple(difference.changes(before, same)),
        changed,
        after.message if before.allowed and not after.allowed else "",
    )


async def _through(template: Template, source: Source, sides: Sequence[Side]) -> Outcome:
    """A pod through webhooks, one after the other."""
    outcome = Outcome(template.pod)
    for side in sides:
        current = template._replace(pod=copy.deepcopy(dict(outcome.pod)))
        if not selected(side.hook, _labels(current), _namespace_labels(current, source)):
            continue
        around = Overlay(MemoryCluster(template.companions), source.around)
        try:
            verdict = await inject.decide(current, around, side.policy)
        except errors.MalformedReview as error:
            raise errors.InvalidInput(*error.problems) from error
        pod = current.pod
        if verdict.patch:
            apply.patch(pod, json.loads(verdict.patch))
        findings = (*outcome.findings, *verdict.findings)
        told = any(finding.severity != "info" for finding in verdict.findings)
        touched = outcome.touched or told or bool(verdict.patch) or not verdict.allowed
        outcome = Outcome(pod, verdict.allowed, verdict.message, findings, touched)
        if not verdict.allowed:
            return outcome
    return outcome


def _labels(template: Template) -> Mapping[str, str]:
    found: Mapping[str, str] = template.pod["metadata"].get("labels") or {}
    return found


def _namespace_labels(template: Template, source: Source) -> Mapping[str, str]:
    # every namespace has this label, in a file it is seldom written
    return {vocabulary.NAMESPACE_NAME_LABEL: template.namespace, **source.labels(template.namespace)}
