"""The canned review behind ``/readyz``: ready means that a pod was really mutated, by the very code that
serves."""

from __future__ import annotations

import msgspec

from vestibule.core.admission import review as reviews
from vestibule.core.kinds.config import Settings
from vestibule.core.mutation import pipeline
from vestibule.core.mutation.facts import NO_ANNOTATIONS, Annotations, Facts, Source
from vestibule.core.mutation.policy import Policy

_NAMESPACE = "canary"
_REVIEW = msgspec.json.encode(
    {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "canary",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "userInfo": {"username": "canary"},
            "namespace": _NAMESPACE,
            "object": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "canary", "namespace": _NAMESPACE},
                "spec": {
                    "serviceAccountName": "canary",
                    "containers": [{"name": "canary", "image": "canary"}],
                },
            },
        },
    }
)
_ASKS = {
    "cwii.dev/gcp-inject": "true",
    "cwii.dev/gcp-audience": (
        "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/canary/providers/canary"
    ),
    "cwii.dev/aws-inject": "true",
    "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/canary",
    "cwii.dev/az-inject": "true",
    "cwii.dev/az-client-id": "00000000-0000-0000-0000-000000000000",
    "cwii.dev/az-tenant-id": "00000000-0000-0000-0000-000000000000",
}
_FACTS = Facts(
    _NAMESPACE,
    "canary",
    (
        Source("Pod", _NAMESPACE, "canary"),
        Source("ServiceAccount", _NAMESPACE, "canary", annotations=Annotations(_ASKS)),
        Source("Namespace", "", _NAMESPACE),
    ),
    (NO_ANNOTATIONS, Annotations(_ASKS), NO_ANNOTATIONS),
    1,
)


def problem(policy: Policy) -> str:
    """Empty when the canned pod gets every identity that is switched on; else what went wrong."""
    review = reviews.decode(_REVIEW)
    verdict = pipeline.decide(review.request, _FACTS, policy, _REVIEW)
    wanted = _enabled(policy.settings)
    if set(verdict.providers) != wanted or bool(verdict.patch) != bool(wanted):
        return f"a canned pod got {','.join(verdict.providers) or 'nothing'}, want {','.join(sorted(wanted))}"
    return "" if reviews.encode(review, verdict) else "a canned answer is empty"


def _enabled(settings: Settings) -> set[str]:
    return {name for name in ("gcp", "aws", "az") if getattr(settings, name).enabled}
