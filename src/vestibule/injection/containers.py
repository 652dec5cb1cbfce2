"""Several identities of one cloud in one pod: a claim of its own for every container that names one.

``<key>.<container>`` says whom one container acts as: ``cwii.dev/aws-role-arn.worker``,
``cwii.dev/az-client-id.worker``, ``cwii.dev/gcp-service-account.worker``. All other values are shared.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestibule.api import annotation_keys
from vestibule.api.annotation_keys import Provider
from vestibule.injection import precedence, validators
from vestibule.injection.claim import AwsClaim, AzureClaim, Claim
from vestibule.injection.plan import CloudPlanForPod, PlannedEnv

IDENTITY: Final[dict[str, str]] = {
    "gcp": annotation_keys.GCP_SERVICE_ACCOUNT,
    "aws": annotation_keys.AWS_ROLE_ARN,
    "az": annotation_keys.AZ_CLIENT_ID,
}
"""The key that says whom a pod acts as."""
_CHECKS: Final[dict[str, precedence.ValueType]] = {
    "gcp": validators.SERVICE_ACCOUNT,
    "aws": validators.ROLE_ARN,
    "az": validators.GUID,
}


def split(claim: Claim, found: precedence.PrecedenceLevels) -> list[Claim]:
    """The claim, and one more for every container that has an identity of its own."""
    own = _own(claim.provider, found)
    if not own:
        return [claim]
    rest = msgspec.structs.replace(claim, skip=(*claim.skip, *own))
    claims: list[Claim] = [rest] if _names_one(claim) else []
    for container, identity in own.items():
        only: dict[str, Any] = {"include": (container,), "skip": (), "container": container, "verify": None}
        if isinstance(claim, AwsClaim):
            claims.append(msgspec.structs.replace(claim, role_arn=identity, profiles=(), **only))
        elif isinstance(claim, AzureClaim):
            claims.append(msgspec.structs.replace(claim, client_id=identity, **only))
        else:
            claims.append(msgspec.structs.replace(claim, service_account=identity, **only))
    return claims


def split_plan(
    plan: CloudPlanForPod, key: str, variable: str, found: precedence.PrecedenceLevels
) -> list[CloudPlanForPod]:
    """The same for a dialect in which the identity is one variable: that plan, and one more for every
    container that has a value of its own."""
    own = _own(plan.provider, found, key)
    if not own:
        return [plan]
    plans = [plan._replace(skip=(*plan.skip, *own))]
    for container, identity in own.items():
        env = [one for one in plan.env if one.name != variable]
        plans.append(
            plan._replace(
                env=(PlannedEnv(variable, identity, "identity"), *env),
                include=(container,),
                skip=(),
                helpers=(),
                grants=tuple(
                    (what, identity if what == _GRANT[plan.provider] else value)
                    for what, value in plan.grants
                ),
            )
        )
    return plans


_GRANT: Final = {"aws": "role_arn", "az": "client_id", "gcp": "service_account"}


def _own(provider: Provider, found: precedence.PrecedenceLevels, key: str = "") -> dict[str, str]:
    key = key or IDENTITY[provider]
    return {
        name: value
        for name in found.suffixes(key, validators.CONTAINER_NAME)
        if (value := found.text(f"{key}.{name}", _CHECKS[provider], provider=provider)) is not None
    }


def _names_one(claim: Claim) -> bool:
    """Whether the claim names an identity for the containers that have none of their own."""
    if isinstance(claim, AwsClaim):
        return bool(claim.role_arn or claim.profiles)
    return bool(claim.client_id) if isinstance(claim, AzureClaim) else True
