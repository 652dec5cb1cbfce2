"""The canned review behind ``/readyz``: ready means that a pod was really mutated, by the very code that
serves. The pod asks in the words of every vocabulary that is understood. An administrator's policies have no
say: one that lets nobody in is no fault of the process."""

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
    """One pod, asked about whenever somebody wants to know whether we are ready."""

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
            self._facts = _facts(_asks(policy.settings))
        review = reviews.decode(_REVIEW)
        verdict = pipeline.decide(review.request, self._facts, self._bare or policy, _REVIEW)
        wanted = _clouds(policy.settings)
        if set(verdict.providers) != wanted or (wanted and not verdict.patch):
            got = ",".join(verdict.providers) or "nothing"
            return f"a canned pod got {got}, want {','.join(sorted(wanted))}"
        return "" if reviews.encode(review, verdict) else "a canned answer is empty"


def _asks(settings: Settings) -> dict[str, str]:
    """What the canned account says, in all vocabularies."""
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
    for vocabulary, cloud in (("azwi", "az"), ("eks", "aws"), ("wif", "gcp"), ("gke", "gcp")):
        if vocabulary in settings.vocabularies and (vocabulary != "gke" or settings.wif.provider):
            found.add(cloud)
    return found


def _facts(asks: dict[str, str]) -> Facts:
    said = SourceAnnotations(asks)
    return Facts(
        _NAMESPACE,
        "canary",
        (
            SourceObject("Pod", _NAMESPACE, "canary"),
            SourceObject("ServiceAccount", _NAMESPACE, "canary", annotations=said),
            SourceObject("Namespace", "", _NAMESPACE),
        ),
        (NO_ANNOTATIONS, said, NO_ANNOTATIONS),
        1,
    )
