"""``IdentityPolicy``: what an administrator says about many ServiceAccounts at once.

A policy maps namespaces and accounts to identities without a word in any workload, and limits what those may
ask for. It stands in the cluster as an object of its own kind, or in the settings file. One that is broken is
left out and told; it never takes the others or the webhook down with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from vestibule import errors
from vestibule.core.kinds import selectors
from vestibule.core.kinds.section import Section

GROUP: Final = "vestibule.dev"
VERSION: Final = "v1alpha1"
KIND: Final = "IdentityPolicy"
_FIELD: Final = re.compile(r"\{([^{}]*)\}")
_BUILT_IN: Final = frozenset({"namespace", "serviceaccount"})


class Match(Section, frozen=True):
    """Whom a policy is about; ``*`` stands for any run of characters."""

    namespaces: tuple[str, ...] = ("*",)
    """Names of namespaces."""
    service_accounts: tuple[str, ...] = ("*",)
    """Names of ServiceAccounts."""


class AwsIdentity(Section, frozen=True):
    """A role in AWS."""

    role_arn: str
    """Such as ``arn:aws:iam::{account}:role/{namespace}-{serviceaccount}``."""
    region: str = ""
    """Region of containers that name none."""
    audience: str = ""
    """Audience of the token; empty: the usual one."""


class AzureIdentity(Section, frozen=True):
    """An application or managed identity in Azure."""

    client_id: str
    tenant_id: str
    audience: str = ""
    """Audience of the token; empty: the usual one."""


class GcpIdentity(Section, frozen=True):
    """A workload identity provider of Google Cloud, and the account to act as."""

    provider: str
    """``//iam.googleapis.com/projects/…/providers/…``."""
    service_account: str = ""
    """E-mail address; empty: access without impersonation."""


class Identities(Section, frozen=True):
    """What the accounts get; values may hold ``{namespace}``, ``{serviceaccount}`` and the policy's
    variables."""

    aws: AwsIdentity | None = None
    az: AzureIdentity | None = None
    gcp: GcpIdentity | None = None


class AwsLimits(Section, frozen=True):
    """What may be asked for in AWS; globs, empty: anything."""

    role_arns: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()


class AzureLimits(Section, frozen=True):
    """What may be asked for in Azure; globs, empty: anything."""

    tenant_ids: tuple[str, ...] = ()
    client_ids: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()


class GcpLimits(Section, frozen=True):
    """What may be asked for in Google Cloud; globs, empty: anything."""

    providers: tuple[str, ...] = ()
    service_accounts: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()


class Limits(Section, frozen=True):
    """What the accounts may ask for, wherever they ask; a pod that asks for more is refused."""

    clouds: tuple[str, ...] = ("aws", "az", "gcp")
    """Clouds that may be asked for at all."""
    aws: AwsLimits = AwsLimits()
    az: AzureLimits = AzureLimits()
    gcp: GcpLimits = GcpLimits()
    images: tuple[str, ...] = ()
    """Images of containers that the webhook adds."""


class IdentityPolicy(Section, frozen=True):
    """One policy."""

    name: str
    match: Match = Match()
    identities: Identities = Identities()
    limits: Limits | None = None
    locked: bool = False
    """Whether the identities given here beat every annotation."""
    priority: int = 0
    """Of several policies that give an identity of one cloud the highest counts, then the first by name."""
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    """Values for the names in braces."""

    def concerns(self, namespace: str, account: str) -> bool:
        """Whether the policy is about this account."""
        return any(selectors.matches(glob, namespace) for glob in self.match.namespaces) and any(
            selectors.matches(glob, account) for glob in self.match.service_accounts
        )

    def filled(self, text: str, namespace: str, account: str) -> str:
        """A value with the names in braces replaced."""
        known = {**self.variables, "namespace": namespace, "serviceaccount": account}
        return _FIELD.sub(lambda match: known[match[1]], text)


def parse(data: Any, place: str) -> IdentityPolicy:
    """A policy from decoded data; raises InvalidInput with every problem."""
    try:
        policy = msgspec.convert(data, IdentityPolicy)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `")
        raise errors.InvalidInput(
            errors.Problem(place, path.rstrip("`").removeprefix("$").lstrip("."), text)
        ) from error
    found = [errors.Problem(place, field, text) for field, text in _problems(policy)]
    if found:
        raise errors.InvalidInput(*found)
    return policy


def of_object(obj: Mapping[str, Any]) -> IdentityPolicy:
    """A policy from an object of the kind; raises InvalidInput with every problem."""
    meta = obj.get("metadata")
    name = str(meta.get("name", "")) if isinstance(meta, Mapping) else ""
    spec = obj.get("spec")
    data = {**spec, "name": name} if isinstance(spec, Mapping) else {"name": name}
    return parse(data, f"{KIND} {name}")


def _problems(policy: IdentityPolicy) -> Iterator[tuple[str, str]]:
    for field, globs in (
        ("match.namespaces", policy.match.namespaces),
        ("match.serviceAccounts", policy.match.service_accounts),
    ):
        for glob in globs:
            if not selectors.is_name_glob(glob):
                yield field, f"holds {glob!r}, want names in which * may stand"
    for cloud in policy.limits.clouds if policy.limits else ():
        if cloud not in ("aws", "az", "gcp"):
            yield "limits.clouds", f"holds {cloud!r}, want aws, az or gcp"
    known = _BUILT_IN | policy.variables.keys()
    for field, value in _values(policy.identities):
        for name in _FIELD.findall(value):
            if name not in known:
                yield (
                    f"identities.{field}",
                    (f"has {{{name}}}, want one of {', '.join(sorted(known))} (variables may add to them)"),
                )


def _values(identities: Identities) -> Iterator[tuple[str, str]]:
    for cloud in ("aws", "az", "gcp"):
        section = getattr(identities, cloud)
        for field in section.__struct_fields__ if section is not None else ():
            yield f"{cloud}.{field}", getattr(section, field)


class Loaded(msgspec.Struct, frozen=True):
    """The policies that can be used, and what is wrong with the others."""

    policies: tuple[IdentityPolicy, ...] = ()
    problems: tuple[errors.Problem, ...] = ()


def load(settings: Sequence[Any], objects: Sequence[Mapping[str, Any]]) -> Loaded:
    """All policies of the settings file and of the cluster, in the order in which they count."""
    policies: list[IdentityPolicy] = []
    problems: list[errors.Problem] = []
    for position, data in enumerate(settings):
        try:
            policies.append(parse(data, f"policies[{position}]"))
        except errors.InvalidInput as error:
            problems += error.problems
    for obj in objects:
        try:
            policies.append(of_object(obj))
        except errors.InvalidInput as error:
            problems += error.problems
    policies.sort(key=lambda policy: (-policy.priority, policy.name))
    return Loaded(tuple(policies), tuple(problems))
