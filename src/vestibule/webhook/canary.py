"""The canned review behind ``/readyz``: ready means that a pod was really mutated, by the very code that
serves. The pod requests identities in every enabled dialect. Identity policies do not apply:
one that refuses every pod is no fault of the process."""

from __future__ import annotations

from typing import Final

import msgspec

from vestibule.admission import canned
from vestibule.admission import review as reviews
from vestibule.api.settings.schema import Settings
from vestibule.injection import pipeline
from vestibule.injection.facts import NO_ANNOTATIONS, Facts, SourceAnnotations, SourceObject
from vestibule.injection.policy import Policy, compile_policy

_NAMESPACE: Final = canned.NAMESPACE
_REVIEW: Final = canned.review()
_ROLE: Final = "arn:aws:iam::123456789012:role/canary"
_ID: Final = "00000000-0000-0000-0000-000000000000"
_PROVIDER: Final = "projects/1/locations/global/workloadIdentityPools/canary/providers/canary"
_EMAIL: Final = "canary@canary.iam.gserviceaccount.com"
_CWII: Final = {
    "cwii.dev/gcp-inject": "true",
    "cwii.dev/gcp-audience": f"//iam.googleapis.com/{_PROVIDER}",
    "cwii.dev/aws-inject": "true",
    "cwii.dev/aws-role-arn": _ROLE,
    "cwii.dev/az-inject": "true",
    "cwii.dev/az-client-id": _ID,
    "cwii.dev/az-tenant-id": _ID,
}


class Canary:
    """One pod that is decided for every readiness probe."""

    def __init__(self) -> None:
        self._policy: Policy | None = None
        self._bare: Policy | None = None
        self._facts = _facts({})

    def problem(self, policy: Policy) -> str:
        """Empty when the canned pod gets every identity that can be asked for; else what went wrong."""
        if policy is not self._policy:
            self._policy = policy
            self._bare = policy
            if policy.central:
                self._bare = compile_policy(msgspec.structs.replace(policy.settings, policies=()))
            self._facts = _facts(_annotations(policy.settings))
        review = reviews.decode(_REVIEW)
        verdict = pipeline.decide(review.request, self._facts, self._bare or policy, _REVIEW)
        expected = _clouds(policy.settings)
        if set(verdict.providers) != expected or (expected and not verdict.patch):
            got = ",".join(verdict.providers) or "nothing"
            return f"a canned pod got {got}, want {','.join(sorted(expected))}"
        return "" if reviews.encode(review, verdict) else "a canned response is empty"


def _annotations(settings: Settings) -> dict[str, str]:
    """The annotations of the canned ServiceAccount, in all dialects."""
    eks, wif = (section.annotation_prefix.rstrip("/") for section in (settings.eks, settings.wif))
    return {
        **_CWII,
        "azure.workload.identity/client-id": _ID,
        "azure.workload.identity/tenant-id": _ID,
        f"{eks}/role-arn": _ROLE,
        f"{wif}/workload-identity-provider": _PROVIDER,
        f"{wif}/service-account-email": _EMAIL,
        "iam.gke.io/gcp-service-account": _EMAIL,
    }


def _clouds(settings: Settings) -> set[str]:
    """Whom it must get."""
    found: set[str] = set()
    if "cwii" in settings.vocabularies:
        found |= {name for name in ("gcp", "aws", "az") if getattr(settings, name).enabled}
    for dialect, cloud in (("azwi", "az"), ("eks", "aws"), ("wif", "gcp"), ("gke", "gcp")):
        if dialect in settings.vocabularies and (dialect != "gke" or settings.wif.provider):
            found.add(cloud)
    return found


def _facts(annotations: dict[str, str]) -> Facts:
    source = SourceAnnotations(annotations)
    return Facts(
        _NAMESPACE,
        "canary",
        (
            SourceObject("Pod", _NAMESPACE, "canary"),
            SourceObject("ServiceAccount", _NAMESPACE, "canary", annotations=source),
            SourceObject("Namespace", "", _NAMESPACE),
        ),
        (NO_ANNOTATIONS, source, NO_ANNOTATIONS),
        1,
    )
