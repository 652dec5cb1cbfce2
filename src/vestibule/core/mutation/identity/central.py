"""The administrator's policies at work: a level of their own for each account, and the guard over the result.

The guard is the one place where locks and limits are enforced. It judges the finished pod (``uses``) and what
was planned for it, after everything else is decided, so no dialect, key or variable can lead around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from vestibule.core.admission import patch, review
from vestibule.core.kinds import config, selectors, vocabulary
from vestibule.core.kinds.identitypolicy import KIND, BrokenPolicy, IdentityPolicy
from vestibule.core.kinds.vocabulary import Provider, cwii
from vestibule.core.mutation.facts import Annotations, Source
from vestibule.core.mutation.identity import checks, uses
from vestibule.core.mutation.identity.levels import Check
from vestibule.core.mutation.identity.plan import Plan
from vestibule.core.mutation.identity.uses import Use

_TYPES: Final[dict[str, Check]] = {
    "role_arn": checks.ROLE_ARN,
    "tenant_id": checks.TENANT,
    "client_id": checks.GUID,
    "service_account": checks.SERVICE_ACCOUNT,
    "provider": checks.POOL_PROVIDER,
}


class Central:
    """All policies, strongest first, and those that cannot be understood."""

    def __init__(
        self,
        policies: Sequence[IdentityPolicy],
        broken: Sequence[BrokenPolicy] = (),
        settings: config.Settings | None = None,
    ) -> None:
        self._policies = tuple(policies)
        self._broken = tuple(broken)
        self._settings = settings or config.Settings()

    def __bool__(self) -> bool:
        return bool(self._policies or self._broken)

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

    def guard(self, namespace: str, account: str) -> Guard | None:
        """What holds for the pods of an account; None when no policy limits it or is locked for it."""
        broken = next((one for one in self._broken if one.concerns(namespace, account)), None)
        concerned = [policy for policy in self._policies if policy.concerns(namespace, account)]
        limited = tuple(policy for policy in concerned if policy.limits is not None)
        locks: dict[Provider, _Lock] = {}
        for policy in concerned:
            if policy.locked:
                for cloud, values in self._expected(policy, namespace, account):
                    locks.setdefault(cloud, _Lock(policy.name, values))
        if broken is None and not limited and not locks:
            return None
        return Guard(f"ServiceAccount {namespace}/{account}", limited, locks, broken)

    def _expected(
        self, policy: IdentityPolicy, namespace: str, account: str
    ) -> Iterator[tuple[Provider, dict[str, str]]]:
        """The values that a locked policy gives, cloud by cloud."""

        def fill(text: str) -> str:
            return policy.filled(text, namespace, account)

        aws, az, gcp = policy.identities.aws, policy.identities.az, policy.identities.gcp
        if aws is not None:
            audience = fill(aws.audience) or self._settings.aws.default_audience
            yield "aws", {"role_arn": fill(aws.role_arn), "audience": audience}
        if az is not None:
            audience = fill(az.audience) or self._settings.az.default_audience
            values = {"client_id": fill(az.client_id), "tenant_id": fill(az.tenant_id), "audience": audience}
            yield "az", values
        if gcp is not None:
            provider = fill(gcp.provider)
            values = {"provider": provider, "audience": provider}
            if gcp.service_account:
                values["service_account"] = fill(gcp.service_account)
            yield "gcp", values


class _Lock(NamedTuple):
    """The identity that a locked policy gives for one cloud."""

    policy: str
    values: dict[str, str]


class Guard:
    """Locks and limits for the pods of one account."""

    def __init__(
        self,
        who: str,
        limited: Sequence[IdentityPolicy],
        locks: Mapping[Provider, _Lock],
        broken: BrokenPolicy | None,
    ) -> None:
        self._who = who
        self._limited = limited
        self._locks = locks
        self._broken = broken

    @property
    def locked(self) -> Mapping[Provider, _Lock]:
        """The clouds whose identity is fixed."""
        return self._locks

    def hides(self) -> Callable[[str], str] | None:
        """The policy that forbids a key on the pod's own levels, by key; None where no cloud is locked."""
        if not self._locks:
            return None
        given: dict[str, str] = {}
        prefixes: dict[str, str] = {}
        for cloud, lock in self._locks.items():
            given |= dict.fromkeys(_FIXED[cloud], lock.policy)
            prefixes |= dict.fromkeys((f"{key}." for key in _SUFFIXED[cloud]), lock.policy)
        starts = tuple(prefixes)

        def hidden(key: str) -> str:
            if key in given:
                return given[key]
            if key.startswith(starts):
                return next(policy for start, policy in prefixes.items() if key.startswith(start))
            return ""

        return hidden

    def refusal(self, pod: review.Pod, patched: patch.Patch, plans: Sequence[Plan]) -> str:
        """Why the finished pod must not be, in the words of the first policy that forbids it; empty: it
        may."""
        found = [Use(plan.provider, *grant, "") for plan in plans for grant in plan.grants]
        found += uses.of(uses.finished(pod, patched))
        for plan in plans:
            if plan.config_map is not None:
                for text in plan.config_map.body["data"].values():
                    found += uses.of_credentials(str(text), "", [])
        if self._broken is not None and (found or plans or self._broken.gives):
            listed = "; ".join(f"{one.field} {one.text}".strip() for one in self._broken.problems)
            name = f"{KIND} {self._broken.name}"
            return f"{name} cannot be understood, so pods of {self._who} are refused: {listed}"
        # pods of many containers use few identities
        found = list({use[:3]: use for use in reversed(found)}.values())[::-1]
        for use in found:
            lock = self._locks.get(use.provider)
            if lock is not None and not _same(use, lock.values.get(use.what)):
                wanted = lock.values.get(use.what)
                rule = f"want {wanted!r}" if wanted is not None else "want none"
                return f"{KIND} {lock.policy} is locked: {_said(use)} of {self._who}, {rule}"
        for policy in self._limited:
            for text in _exceeded(policy, plans, found):
                return f"{KIND} {policy.name}: {self._who} may not ask for {text}"
        return ""


_FIXED: Final[dict[str, tuple[str, ...]]] = {
    "aws": (cwii("aws", vocabulary.AUDIENCE), vocabulary.NATIVE_EKS_ROLE_ARN),
    "az": (
        cwii("az", vocabulary.AUDIENCE),
        vocabulary.AZ_AUTHORITY_HOST,
        vocabulary.NATIVE_AZWI_CLIENT_ID,
        vocabulary.NATIVE_AZWI_TENANT_ID,
    ),
    "gcp": (
        vocabulary.GCP_SERVICE_ACCOUNT,
        vocabulary.GCP_TOKEN_AUDIENCE,
        vocabulary.NATIVE_GKE_SERVICE_ACCOUNT,
    ),
}
"""Keys that say whom a pod acts as, or for whom its token is, and that a locked policy need not give itself;
those that it gives beat the pod's own anyway."""
_SUFFIXED: Final[dict[str, tuple[str, ...]]] = {
    "aws": (vocabulary.AWS_ROLE_ARN, vocabulary.AWS_PROFILE),
    "az": (vocabulary.AZ_CLIENT_ID,),
    "gcp": (vocabulary.GCP_SERVICE_ACCOUNT,),
}
"""Keys behind which a container or profile may be named."""


def _annotations(policy: IdentityPolicy, namespace: str, account: str) -> Iterator[tuple[str, str]]:
    """The policy in annotations of cwii."""

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


def _exceeded(policy: IdentityPolicy, plans: Sequence[Plan], found: Iterable[Use]) -> Iterator[str]:
    """What the pod uses that the policy does not allow."""
    limits = policy.limits
    assert limits is not None, "asked of policies with limits only"  # noqa: S101 - narrows the type
    for plan in plans:
        if plan.provider not in limits.clouds:
            yield f"{plan.provider} identity; allowed: {', '.join(limits.clouds) or 'none'}"
    for use in found:
        if use.provider not in limits.clouds:
            place = f" ({use.where})" if use.where else ""
            yield f"{use.provider} identity{place}; allowed: {', '.join(limits.clouds) or 'none'}"
        globs = getattr(getattr(limits, use.provider), f"{use.what}s")
        if globs and not _allowed(use, globs):
            yield f"{_said(use)}; allowed: {', '.join(globs)}"
    for plan in plans:
        for helper in plan.helpers:
            image = str(helper.body.get("image", ""))
            if limits.images and not any(selectors.matches(glob, image) for glob in limits.images):
                yield f"image {image!r}; allowed: {', '.join(limits.images)}"


def _allowed(use: Use, globs: Iterable[str]) -> bool:
    """Whether a value of its type fits one of the globs; what is no value of the type fits none."""
    if use.value is None:
        return False
    check = _TYPES.get(use.what)
    if check is not None and not check.fits(use.value):
        return False
    value = _plain(use.provider, use.value)
    return any(selectors.matches(_plain(use.provider, glob), value) for glob in globs)


def _same(use: Use, wanted: str | None) -> bool:
    if use.value is None or wanted is None:
        return False
    return _plain(use.provider, use.value) == _plain(use.provider, wanted)


def _plain(provider: Provider, value: str) -> str:
    """The value; of Google's providers without the scheme that may stand before them."""
    return value.removeprefix("https:") if provider == "gcp" else value


def _said(use: Use) -> str:
    value = repr(use.value) if use.value is not None else "that cannot be known beforehand"
    return f"{use.what.replace('_', ' ')} {value}" + (f" ({use.where})" if use.where else "")
