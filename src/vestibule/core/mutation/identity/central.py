"""The administrator's policies at work: a level of their own for each account, and a guard over what is
planned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vestibule.core.kinds import selectors, vocabulary
from vestibule.core.kinds.identitypolicy import KIND, IdentityPolicy
from vestibule.core.kinds.vocabulary import cwii
from vestibule.core.mutation.facts import Annotations, Source
from vestibule.core.mutation.identity.plan import Plan


class Central:
    """All policies, strongest first."""

    def __init__(self, policies: Sequence[IdentityPolicy]) -> None:
        self._policies = tuple(policies)

    def __bool__(self) -> bool:
        return bool(self._policies)

    def levels(self, namespace: str, account: str) -> tuple[list[Source], list[Source]]:
        """What the policies say about an account, as objects with annotations: those that beat the pod's
        levels, and those that stand behind them."""
        locked: list[Source] = []
        open_: list[Source] = []
        for policy in self._policies:
            if policy.concerns(namespace, account):
                said = dict(_annotations(policy, namespace, account))
                if said:
                    source = Source(KIND, "", policy.name, "", Annotations(said))
                    (locked if policy.locked else open_).append(source)
        return locked, open_

    def refusal(self, namespace: str, account: str, plans: Sequence[Plan]) -> str:
        """Why the plans must not be, in the words of the first policy that forbids one; empty: they may."""
        for policy in self._policies:
            if policy.limits is not None and policy.concerns(namespace, account):
                for plan in plans:
                    for text in _exceeded(policy, plan):
                        who = f"ServiceAccount {namespace}/{account}"
                        return f"{KIND} {policy.name}: {who} may not ask for {text}"
        return ""


def _annotations(policy: IdentityPolicy, namespace: str, account: str) -> Iterator[tuple[str, str]]:
    """The policy in words of our own vocabulary."""

    def fill(text: str) -> str:
        return policy.filled(text, namespace, account)

    aws, az, gcp = policy.identities.aws, policy.identities.az, policy.identities.gcp
    if aws is not None:
        yield cwii("aws", vocabulary.INJECT), "true"
        yield vocabulary.AWS_ROLE_ARN, fill(aws.role_arn)
        if aws.region:
            yield vocabulary.AWS_REGION, fill(aws.region)
        if aws.audience:
            yield cwii("aws", vocabulary.AUDIENCE), fill(aws.audience)
    if az is not None:
        yield cwii("az", vocabulary.INJECT), "true"
        yield vocabulary.AZ_CLIENT_ID, fill(az.client_id)
        yield vocabulary.AZ_TENANT_ID, fill(az.tenant_id)
        if az.audience:
            yield cwii("az", vocabulary.AUDIENCE), fill(az.audience)
    if gcp is not None:
        yield cwii("gcp", vocabulary.INJECT), "true"
        yield cwii("gcp", vocabulary.AUDIENCE), fill(gcp.provider)
        if gcp.service_account:
            yield vocabulary.GCP_SERVICE_ACCOUNT, fill(gcp.service_account)


def _exceeded(policy: IdentityPolicy, plan: Plan) -> Iterator[str]:
    """What a plan holds that the policy does not allow."""
    limits = policy.limits
    assert limits is not None, "asked of policies with limits only"  # noqa: S101 - narrows the type
    if plan.provider not in limits.clouds:
        yield f"{plan.provider} identity; allowed: {', '.join(limits.clouds) or 'none'}"
        return
    section = getattr(limits, plan.provider)
    for what, value in plan.grants:
        globs = getattr(section, f"{what}s")
        if globs and not any(selectors.matches(glob, value) for glob in globs):
            yield f"{what.replace('_', ' ')} {value!r}; allowed: {', '.join(globs)}"
    for helper in plan.helpers:
        image = str(helper.body.get("image", ""))
        if limits.images and not any(selectors.matches(glob, image) for glob in limits.images):
            yield f"image {image!r}; allowed: {', '.join(limits.images)}"
