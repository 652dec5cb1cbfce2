"""The identity stage: from one pod and what was read for it to a verdict.

What the levels ask for is prepared once (``policy.prepare``); what is left per pod is how it fits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import msgspec

from vestibule.admission import patch, review
from vestibule.admission import verdict as verdicts
from vestibule.api import annotation_keys
from vestibule.injection import exclusions, fragments, identity_verdict, inject, policy_guard
from vestibule.injection.facts import Facts
from vestibule.injection.plan import CloudPlanForPod
from vestibule.injection.policy import Policy
from vestibule.injection.precedence import LevelNote, RejectedAnnotation

_OUR_PREFIX: Final = annotation_keys.CWII_PREFIX.encode()


def run(pod: review.Pod, facts: Facts, policy: Policy) -> verdicts.Verdict:
    """Decide the identity of one pod: ``skipped``, ``patched`` or ``refused``."""
    labels = pod.metadata.labels
    ours = labels is not review.ABSENT and policy.rules.warn and _OUR_PREFIX in bytes(labels)
    if policy.unasked is not None and facts.silent and not ours:
        return policy.unasked
    prepared = policy.prepare(facts.annotations, policy.subject(pod, facts))
    if prepared.policies:
        facts = msgspec.structs.replace(facts, levels=(*facts.levels, *prepared.policies))
    if prepared.refusal:
        return verdicts.refused(prepared.refusal, code=prepared.code, reason="invalid", levels=facts.levels)
    if prepared.rejected is not None:
        return identity_verdict.rejected(prepared.rejected, facts)
    excluded = policy.rules.exclusions and exclusions.host_network(pod, policy.settings)
    if excluded:
        prepared = prepared._replace(bundle=fragments.FragmentBundle([]), notes=())
    notes: list[LevelNote] = []
    if policy.rules.warn:
        notes += prepared.notes
        if ours:
            notes += _label_notes(labels, policy.settings.pod_limits.unknown_keys)
    guard = prepared.guard
    if excluded or (not prepared.bundle.parts and not notes and not facts.notes):
        judged = _judged(guard, pod, facts, policy, patch.NO_PATCH, ())
        if judged is not None:
            return judged
        if excluded:
            return verdicts.skipped("host-network")
        reason = "unconfigured" if prepared.missing else prepared.idle
        return verdicts.Verdict(
            "skip",
            patch.NO_PATCH,
            "",
            0,
            (),
            (),
            prepared.origins,
            facts.levels,
            prepared.missing,
            (),
            reason,
        )
    try:
        bundle, patched = inject.build_patch(pod, facts, policy, prepared.bundle, notes)
    except RejectedAnnotation as rejected:
        return identity_verdict.rejected(rejected.note, facts)
    judged = _judged(guard, pod, facts, policy, patched, [part.plan for part in bundle.parts])
    if judged is not None:
        return judged
    return identity_verdict.conclude(bundle, patched, notes, facts, policy, prepared)


def _judged(
    guard: policy_guard.PolicyGuard | None,
    pod: review.Pod,
    facts: Facts,
    policy: Policy,
    patched: patch.Patch,
    plans: Sequence[CloudPlanForPod],
) -> verdicts.Verdict | None:
    """The refusal of a finished pod that policies do not allow; None: they do."""
    if guard is None:
        return None
    try:
        refusal = guard.refusal(pod, patched, plans, policy.settings.pod_limits)
    except RejectedAnnotation as rejected:
        return identity_verdict.rejected(rejected.note, facts)
    return verdicts.refused(refusal, levels=facts.levels) if refusal else None


def _label_notes(raw: msgspec.Raw, most: int) -> list[LevelNote]:
    """Labels are not read; those that look like ours are reported, the first few of them."""
    found = msgspec.json.decode(raw)
    labels = found if isinstance(found, dict) else {}
    ours = ((key, value) for key, value in labels.items() if key.startswith(annotation_keys.CWII_PREFIX))
    return [
        LevelNote("a label is not read, make it an annotation", 0, key, str(value))
        for key, value in itertools.islice(ours, most)
    ]
