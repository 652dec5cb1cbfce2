"""Several identities of one cloud in one pod: a claim of its own for every container that names one.

``<key>.<container>`` says whom one container acts as: ``cwii.dev/aws-role-arn.worker``,
``cwii.dev/az-client-id.worker``, ``cwii.dev/gcp-service-account.worker``. All other values are shared.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vestibule.core.kinds import vocabulary
from vestibule.core.kinds.vocabulary import Provider
from vestibule.core.mutation.identity import checks, levels
from vestibule.core.mutation.identity.claim import AwsClaim, AzureClaim, Claim
from vestibule.core.mutation.identity.plan import Env, Plan

IDENTITY: Final[dict[str, str]] = {
    "gcp": vocabulary.GCP_SERVICE_ACCOUNT,
    "aws": vocabulary.AWS_ROLE_ARN,
    "az": vocabulary.AZ_CLIENT_ID,
}
"""The key that says whom a pod acts as."""
_CHECKS: Final[dict[str, levels.Check]] = {
    "gcp": checks.SERVICE_ACCOUNT,
    "aws": checks.ROLE_ARN,
    "az": checks.GUID,
}


def split(claim: Claim, found: levels.Levels) -> list[Claim]:
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


def split_plan(plan: Plan, key: str, variable: str, found: levels.Levels) -> list[Plan]:
    """The same for a vocabulary in which the identity is one variable: that plan, and one more for every
    container that has a value of its own."""
    own = _own(plan.provider, found, key)
    if not own:
        return [plan]
    plans = [plan._replace(skip=(*plan.skip, *own))]
    for container, identity in own.items():
        env = [one for one in plan.env if one.name != variable]
        plans.append(
            plan._replace(
                env=(Env(variable, identity, "identity"), *env),
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


def _own(provider: Provider, found: levels.Levels, key: str = "") -> dict[str, str]:
    key = key or IDENTITY[provider]
    return {
        name: value
        for name in found.suffixes(key, checks.CONTAINER_NAME)
        if (value := found.text(f"{key}.{name}", _CHECKS[provider], provider=provider)) is not None
    }


def _names_one(claim: Claim) -> bool:
    """Whether the claim names an identity for the containers that have none of their own."""
    if isinstance(claim, AwsClaim):
        return bool(claim.role_arn or claim.profiles)
    return bool(claim.client_id) if isinstance(claim, AzureClaim) else True
