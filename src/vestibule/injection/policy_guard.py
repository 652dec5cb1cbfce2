"""The administrator's policies at work: a level of their own for each account, and the guard over the result.

The guard is the one place where locks and limits are enforced. It judges the finished pod (``identity_uses``)
and what was planned for it, after everything else is decided, so no dialect, key or variable can lead around
it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from vestibule.admission import patch, review
from vestibule.api import annotation_keys, glob_patterns, identitypolicy
from vestibule.api.annotation_keys import Provider, cwii
from vestibule.api.identitypolicy import KIND, BrokenPolicy, IdentityPolicy
from vestibule.api.settings import schema
from vestibule.api.settings.podlimits import PodLimits
from vestibule.injection import identity_uses, mounts, ordering, podview, validators
from vestibule.injection.facts import SourceAnnotations, SourceObject
from vestibule.injection.identity_uses import IdentityUse
from vestibule.injection.plan import CloudPlanForPod
from vestibule.injection.precedence import RejectedAnnotation, ValueType

_TYPES: Final[dict[str, ValueType]] = {
    "role_arn": validators.ROLE_ARN,
    "tenant_id": validators.TENANT,
    "client_id": validators.GUID,
    "service_account": validators.SERVICE_ACCOUNT,
    "provider": validators.POOL_PROVIDER,
}


class PolicySet:
    """All policies, strongest first, and those that cannot be understood."""

    def __init__(
        self,
        policies: Sequence[IdentityPolicy],
        broken: Sequence[BrokenPolicy] = (),
        settings: schema.Settings | None = None,
    ) -> None:
        self._policies = tuple(policies)
        self._limits = {id(one): _Limits(one) for one in self._policies if one.limits is not None}
        self._broken = tuple(broken)
        self._settings = settings or schema.Settings()

    def __bool__(self) -> bool:
        return bool(self._policies or self._broken)

    def levels(self, namespace: str, account: str) -> tuple[list[SourceObject], list[SourceObject]]:
        """The policies' values for an account, as objects with annotations: those before the pod's levels,
        and those after them."""
        locked: list[SourceObject] = []
        open_: list[SourceObject] = []
        for policy in self._policies:
            if policy.concerns(namespace, account):
                values = dict(_annotations(policy, namespace, account))
                if values:
                    source = SourceObject(KIND, "", policy.name, "", SourceAnnotations(values))
                    (locked if policy.locked else open_).append(source)
        return locked, open_

    def guard(self, namespace: str, account: str) -> PolicyGuard | None:
        """What holds for the pods of an account; None when no policy limits it or is locked for it."""
        broken = next((one for one in self._broken if one.concerns(namespace, account)), None)
        concerned = [policy for policy in self._policies if policy.concerns(namespace, account)]
        limited = tuple(self._limits[id(policy)] for policy in concerned if policy.limits is not None)
        locks: dict[Provider, _LockedIdentity] = {}
        for policy in concerned:
            if policy.locked:
                for cloud, values in self._expected(policy, namespace, account):
                    locks.setdefault(cloud, _LockedIdentity(policy.name, values, policy.env_from))
        if broken is None and not limited and not locks:
            return None
        return PolicyGuard(f"ServiceAccount {namespace}/{account}", limited, locks, broken)

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


class _LockedIdentity(NamedTuple):
    """The identity that a locked policy gives for one cloud."""

    policy: str
    values: dict[str, str]
    env_from: identitypolicy.EnvFrom


class PolicyGuard:
    """Locks and limits for the pods of one account."""

    def __init__(
        self,
        who: str,
        limited: Sequence[_Limits],
        locks: Mapping[Provider, _LockedIdentity],
        broken: BrokenPolicy | None,
    ) -> None:
        self._who = who
        self._limited = limited
        self._locks = locks
        self._broken = broken

    @property
    def locked(self) -> Mapping[Provider, _LockedIdentity]:
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

    def refusal(
        self, pod: review.Pod, patched: patch.Patch, plans: Sequence[CloudPlanForPod], caps: PodLimits
    ) -> str:
        """Why the finished pod must not be, in the words of the first policy that forbids it; empty: it
        may. Raises RejectedAnnotation for a pod over a cap, and MalformedReview for one of the wrong
        shape."""
        view = podview.view(pod.spec)
        count = len(view.containers) + len(view.init_containers or ())
        if count > caps.containers:
            want = f"at most {caps.containers} (podLimits.containers)"
            raise RejectedAnnotation(0, "spec.containers", f"{count} containers", want)
        found = _distinct(pod, patched, plans, caps)
        if self._broken is not None and (found or plans or self._broken.gives):
            listed = "; ".join(f"{one.field} {one.text}".strip() for one in self._broken.problems)
            name = f"{KIND} {self._broken.name}"
            return f"{name} cannot be understood, so pods of {self._who} are refused: {listed}"
        for use in found:
            lock = self._locks.get(use.provider)
            if lock is None or (use.hidden and lock.env_from == "Allow"):
                continue
            if not _same(use, lock.values.get(use.what)):
                expected = lock.values.get(use.what)
                rule = f"want {expected!r}" if expected is not None else "want none"
                rule += _ENV_FROM if use.hidden else ""
                return f"{KIND} {lock.policy} is locked: {_describe_use(use)} of {self._who}, {rule}"
        for limits in self._limited:
            shown = [use for use in found if not use.hidden] if limits.env_from == "Allow" else found
            for text in limits.exceeded(plans, shown):
                return f"{KIND} {limits.policy}: {self._who} may not ask for {text}"
        return ""


def _distinct(
    pod: review.Pod, patched: patch.Patch, plans: Sequence[CloudPlanForPod], caps: PodLimits
) -> list[IdentityUse]:
    """What the finished pod uses, each identity once: pods of many containers use few of them. Raises
    Rejected for a pod that names more than the cap."""
    document = identity_uses.finished(pod, patched)
    granted = (IdentityUse(plan.provider, *grant, "") for plan in plans for grant in plan.grants)
    found: dict[tuple[object, ...], IdentityUse] = {}
    most = caps.identity_values
    seen = identity_uses.of(document, _planned(document, plans), most)
    for count, use in enumerate(itertools.chain(granted, seen)):
        found.setdefault((*use[:3], use.hidden), use)
        if len(found) > most or count > _REPEATED * most:
            want = f"at most {most} where a policy limits (podLimits.identityValues)"
            raise RejectedAnnotation(
                0, "spec.containers", f"more than {most} values that name identities", want
            )
    return list(found.values())


_REPEATED: Final = 20
"""How often each value may be repeated, on average: a pod may have 200 containers."""


_FIXED: Final[dict[str, tuple[str, ...]]] = {
    "aws": (cwii("aws", annotation_keys.AUDIENCE), annotation_keys.NATIVE_EKS_ROLE_ARN),
    "az": (
        cwii("az", annotation_keys.AUDIENCE),
        annotation_keys.AZ_AUTHORITY_HOST,
        annotation_keys.NATIVE_AZWI_CLIENT_ID,
        annotation_keys.NATIVE_AZWI_TENANT_ID,
    ),
    "gcp": (
        annotation_keys.GCP_SERVICE_ACCOUNT,
        annotation_keys.GCP_TOKEN_AUDIENCE,
        annotation_keys.NATIVE_GKE_SERVICE_ACCOUNT,
    ),
}
"""Keys that say whom a pod acts as, or for whom its token is, and that a locked policy need not give itself;
those that it gives beat the pod's own anyway."""
_SUFFIXED: Final[dict[str, tuple[str, ...]]] = {
    "aws": (annotation_keys.AWS_ROLE_ARN, annotation_keys.AWS_PROFILE),
    "az": (annotation_keys.AZ_CLIENT_ID,),
    "gcp": (annotation_keys.GCP_SERVICE_ACCOUNT,),
}
"""Keys behind which a container or profile may be named."""


def _annotations(policy: IdentityPolicy, namespace: str, account: str) -> Iterator[tuple[str, str]]:
    """The policy in annotations of cwii."""

    def fill(text: str) -> str:
        return policy.filled(text, namespace, account)

    aws, az, gcp = policy.identities.aws, policy.identities.az, policy.identities.gcp
    if aws is not None:
        yield cwii("aws", annotation_keys.INJECT), "true"
        yield annotation_keys.AWS_ROLE_ARN, fill(aws.role_arn)
        if aws.region:
            yield annotation_keys.AWS_REGION, fill(aws.region)
        if aws.audience:
            yield cwii("aws", annotation_keys.AUDIENCE), fill(aws.audience)
    if az is not None:
        yield cwii("az", annotation_keys.INJECT), "true"
        yield annotation_keys.AZ_CLIENT_ID, fill(az.client_id)
        yield annotation_keys.AZ_TENANT_ID, fill(az.tenant_id)
        if az.audience:
            yield cwii("az", annotation_keys.AUDIENCE), fill(az.audience)
    if gcp is not None:
        yield cwii("gcp", annotation_keys.INJECT), "true"
        yield cwii("gcp", annotation_keys.AUDIENCE), fill(gcp.provider)
        if gcp.service_account:
            yield annotation_keys.GCP_SERVICE_ACCOUNT, fill(gcp.service_account)


class _Limits:
    """The limits of one policy, compiled when policies change: a pod costs the same for any number of
    globs that are exact or end with their only star."""

    def __init__(self, policy: IdentityPolicy) -> None:
        limits = policy.limits
        assert limits is not None, "made for policies with limits only"  # noqa: S101 - narrows the type
        self.policy, self.env_from, self._clouds = policy.name, policy.env_from, limits.clouds
        self._images = limits.images
        self._image_fits = glob_patterns.matcher(limits.images)
        self._globs: dict[tuple[str, str], tuple[tuple[str, ...], Callable[[str], bool]]] = {}
        for cloud in annotation_keys.PROVIDERS:
            part = getattr(limits, cloud)
            for field in part.__struct_fields__:
                globs = getattr(part, field)
                if globs:
                    fits = glob_patterns.matcher([_plain(cloud, glob) for glob in globs])
                    self._globs[cloud, field.removesuffix("s")] = globs, fits

    def exceeded(self, plans: Sequence[CloudPlanForPod], found: Iterable[IdentityUse]) -> Iterator[str]:
        """What the pod uses that the policy does not allow."""
        allowed = ", ".join(self._clouds) or "none"
        for plan in plans:
            if plan.provider not in self._clouds:
                yield f"{plan.provider} identity; allowed: {allowed}"
        for use in found:
            advice = _ENV_FROM if use.hidden else ""
            if use.provider not in self._clouds:
                place = f" ({use.where})" if use.where else ""
                yield f"{use.provider} identity{place}; allowed: {allowed}{advice}"
            globs, fits = self._globs.get((use.provider, use.what), ((), None))
            if fits is not None and not _allowed(use, fits):
                yield f"{_describe_use(use)}; allowed: {_listed(globs)}{advice}"
        for plan in plans:
            for helper in plan.helpers:
                image = str(helper.body.get("image", ""))
                if self._images and not self._image_fits(image):
                    yield f"image {image!r}; allowed: {_listed(self._images)}"


def _listed(globs: Sequence[str]) -> str:
    """The first globs of a list, for a message."""
    more = len(globs) - _SHOWN_GLOBS
    return ", ".join(globs[:_SHOWN_GLOBS]) + (f" and {more} more" if more > 0 else "")


_SHOWN_GLOBS: Final = 10


def _planned(document: mounts.Object, plans: Sequence[CloudPlanForPod]) -> identity_uses.InjectedParts:
    """What the plans brought into the finished pod, as far as it is there unchanged."""
    planned = {volume.name: volume.source for plan in plans for volume in plan.volumes}
    present = {str(one.get("name")): one for one in mounts.objects(document["spec"].get("volumes"))}
    shared = {name for name, source in planned.items() if "emptyDir" in source}
    if shared:
        for name in _written_by_others(document, plans, shared):
            del planned[name]
    return identity_uses.InjectedParts(
        frozenset((one.name, one.value) for plan in plans for one in plan.env),
        frozenset(name for name, source in planned.items() if ordering.covers(present.get(name), source)),
        frozenset(
            name
            for plan in plans
            for key, text in plan.annotations
            if key == annotation_keys.AWS_CONFIG
            for name in identity_uses.profiles(text)
        ),
        tuple(
            str(text)
            for plan in plans
            if plan.config_map is not None
            for text in plan.config_map.body["data"].values()
        ),
    )


def _written_by_others(
    document: mounts.Object, plans: Sequence[CloudPlanForPod], shared: set[str]
) -> set[str]:
    """Volumes that a container of ours fills and another may have written to before, or that our container
    does not fill as planned."""
    planned = {helper.name: helper.body for plan in plans for helper in plan.helpers}
    mounted = {(one.volume, one.path, one.read_only) for plan in plans for one in plan.mounts}
    found: set[str] = set()
    filled: set[str] = set()
    for field in ("initContainers", "containers"):
        for container in mounts.objects(document["spec"].get(field)):
            body = planned.get(str(container.get("name")))
            ours = (
                body is not None
                and ordering.covers(container, body)
                and container.keys() - body.keys() <= _DEFAULTED
            )
            for mount in mounts.objects(container.get("volumeMounts")):
                name = str(mount.get("name"))
                if name in shared and not mount.get("readOnly"):
                    same = (name, mount.get("mountPath"), False) in mounted and field == "containers"
                    (filled if ours else set() if same else found).add(name)
    return found | (shared - filled)


_DEFAULTED: Final = frozenset(
    {"imagePullPolicy", "resources", "terminationMessagePath", "terminationMessagePolicy"}
)
"""Fields that the API server and limit ranges add to a container."""


def _allowed(use: IdentityUse, fits: Callable[[str], bool]) -> bool:
    """Whether a value of its type fits one of the globs; what is no value of the type fits none."""
    if use.value is None:
        return False
    check = _TYPES.get(use.what)
    if check is not None and not check.fits(use.value):
        return False
    return fits(_plain(use.provider, use.value))


def _same(use: IdentityUse, planned: str | None) -> bool:
    if use.what == "authority_host":
        return use.value is not None and validators.authority_is_known(use.value, ())
    if use.value is None or planned is None:
        return False
    return _plain(use.provider, use.value) == _plain(use.provider, planned)


def _plain(provider: Provider, value: str) -> str:
    """The value; of Google's providers without the optional scheme."""
    return value.removeprefix("https:") if provider == "gcp" else value


_ENV_FROM: Final = (
    "; give the entries of envFrom a prefix with which none of these names begins, set all of them in env "
    "(AWS files to /dev/null, the profile to default), or have an administrator set envFrom: Allow in the "
    "policy"
)
_SHOWN: Final = 200
"""Characters of a value in a refusal."""


def _describe_use(use: IdentityUse) -> str:
    value = repr(use.value[:_SHOWN]) if use.value is not None else "that cannot be known beforehand"
    return f"{use.what.replace('_', ' ')} {value}" + (f" ({use.where})" if use.where else "")
