"""The decision. Two calls, both pure: ``early`` before anything is read, ``decide`` with the facts.

Between them the caller collects the objects that ``lookups`` needs. Refusals and skips are values; an
exception is a fault.
"""

from __future__ import annotations

from vestibule import errors
from vestibule.admission import verdict as verdicts
from vestibule.admission.review import AdmissionRequest
from vestibule.injection import exclusions, identity_stage, lookups
from vestibule.injection.facts import Facts
from vestibule.injection.policy import Policy
from vestibule.injection.sandbox import stage as sandboxes

FAILED = "mutation failed"
"""cwii's own text, used in strict mode."""


def early(request: AdmissionRequest, policy: Policy) -> verdicts.Verdict | None:
    """The verdict that needs no lookups; None: read the facts, then ``decide``.

    Raises MalformedReview (422) for a review of a pod that holds none.
    """
    rules = policy.rules
    if request.kind.kind != "Pod":
        if rules.create_only:
            return verdicts.skipped("not-a-pod")
        raise errors.MalformedReview(422, f"is {request.kind.kind!r}, want 'Pod'", "request.kind.kind")
    reason = exclusions.reason(request, policy)
    if reason:
        return verdicts.skipped(reason)
    if request.object is None:
        if rules.fault == "refuse":
            return failed(policy)
        raise errors.MalformedReview(422, "is missing, want a Pod", "request.object")
    if not rules.default_names and "" in lookups.names(request, request.object, rules):
        return verdicts.skipped("no-service-account") if rules.nameless == "pass" else failed(policy)
    return None


def decide(request: AdmissionRequest, facts: Facts, policy: Policy, body: bytes) -> verdicts.Verdict:
    """The verdict over a pod, given what was read for it; ``early`` has passed. ``body`` is the review."""
    if request.object is None:
        raise errors.MalformedReview(422, "is missing, want a Pod", "request.object")
    verdict = identity_stage.run(request.object, facts, policy)
    if policy.sandbox is None:
        return verdict
    return sandboxes.run(
        verdict,
        request,
        body,
        facts,
        policy.sandbox,
        report=policy.rules.warn,
        caps=policy.settings.pod_limits,
    )


def failed(policy: Policy, error: Exception | None = None) -> verdicts.Verdict:
    """An upstream webhook's response to a fault; raises the error where the failure policy decides."""
    rules = policy.rules
    if rules.fault == "fault" and error is not None:
        raise error
    if rules.fault == "pass":
        return verdicts.skipped("fault")
    text = str(error) if error is not None and rules.fault_code else FAILED
    return verdicts.refused(text, code=rules.fault_code, reason="fault")
