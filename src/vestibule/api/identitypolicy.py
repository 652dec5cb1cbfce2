"""``IdentityPolicy``: what an administrator says about many ServiceAccounts at once.

A policy maps namespaces and accounts to identities without a word in any workload, and limits what those may
ask for. It is an object of its own kind in the cluster, or an entry of the settings file. One that cannot be
understood is never ignored: settings with such a policy are not loaded, and an object of the cluster refuses
identities in its scope until it is repaired. It takes neither the other policies nor the webhook down.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from vestibule import errors
from vestibule.api import glob_patterns, structure
from vestibule.api.settings.section import SettingsSection

GROUP: Final = "vestibule.dev"
VERSION: Final = "v1alpha1"
KIND: Final = "IdentityPolicy"
_FIELD: Final = re.compile(r"\{([^{}]*)\}")
_BUILT_IN: Final = frozenset({"namespace", "serviceaccount"})


class AccountMatch(SettingsSection, frozen=True):
    """The scope of a policy; ``*`` matches any run of characters."""

    namespaces: tuple[str, ...] = ("*",)
    """Names of namespaces."""
    service_accounts: tuple[str, ...] = ("*",)
    """Names of ServiceAccounts."""


class AwsIdentity(SettingsSection, frozen=True):
    """A role in AWS."""

    role_arn: str
    """Such as ``arn:aws:iam::{account}:role/{namespace}-{serviceaccount}``."""
    region: str = ""
    """Region of containers that name none."""
    audience: str = ""
    """Audience of the token; empty: the usual one."""


class AzureIdentity(SettingsSection, frozen=True):
    """An application or managed identity in Azure."""

    client_id: str
    """Client id (a GUID) of the application or managed identity."""
    tenant_id: str
    """Tenant id: a GUID or a domain name."""
    audience: str = ""
    """Audience of the token; empty: the usual one."""


class GcpIdentity(SettingsSection, frozen=True):
    """A workload identity provider of Google Cloud, and the account to act as."""

    provider: str
    """``//iam.googleapis.com/projects/…/providers/…``."""
    service_account: str = ""
    """E-mail address; empty: access without impersonation."""


class PolicyIdentities(SettingsSection, frozen=True):
    """What the accounts get; values may hold ``{namespace}``, ``{serviceaccount}`` and the policy's
    variables."""

    aws: AwsIdentity | None = None
    """Identity on AWS."""
    az: AzureIdentity | None = None
    """Identity in Azure."""
    gcp: GcpIdentity | None = None
    """Identity on Google Cloud."""


class AwsLimits(SettingsSection, frozen=True):
    """What may be asked for in AWS; globs, empty: anything."""

    role_arns: tuple[str, ...] = ()
    """Globs of allowed role ARNs."""
    audiences: tuple[str, ...] = ()
    """Globs of allowed token audiences."""


class AzureLimits(SettingsSection, frozen=True):
    """What may be asked for in Azure; globs, empty: anything."""

    tenant_ids: tuple[str, ...] = ()
    """Globs of allowed tenant ids."""
    client_ids: tuple[str, ...] = ()
    """Globs of allowed client ids."""
    audiences: tuple[str, ...] = ()
    """Globs of allowed token audiences."""


class GcpLimits(SettingsSection, frozen=True):
    """What may be asked for in Google Cloud; globs, empty: anything."""

    providers: tuple[str, ...] = ()
    """Globs of allowed workload identity providers."""
    service_accounts: tuple[str, ...] = ()
    """Globs of service account e-mail addresses that may be impersonated."""
    audiences: tuple[str, ...] = ()
    """Globs of allowed token audiences."""


Cloud = Literal["aws", "az", "gcp"]


class PolicyLimits(SettingsSection, frozen=True):
    """What the accounts may ask for, wherever they ask; a pod that asks for more is refused."""

    clouds: tuple[Cloud, ...] = ("aws", "az", "gcp")
    """Clouds that may be asked for at all."""
    aws: AwsLimits = AwsLimits()
    """Limits on AWS."""
    az: AzureLimits = AzureLimits()
    """Limits in Azure."""
    gcp: GcpLimits = GcpLimits()
    """Limits on Google Cloud."""
    images: tuple[str, ...] = ()
    """Images of containers that the webhook adds."""


EnvFrom = Literal["Refuse", "Allow"]


class IdentityPolicy(SettingsSection, frozen=True):
    """One policy."""

    name: str
    """Name of the policy; for an object, its own."""
    match: AccountMatch = AccountMatch()
    """ServiceAccounts that the policy applies to."""
    identities: PolicyIdentities = PolicyIdentities()
    """Identities that these accounts get."""
    limits: PolicyLimits | None = None
    """Identities that these accounts may ask for; absent: any."""
    locked: bool = False
    """Whether the identities given here beat every annotation."""
    env_from: EnvFrom = "Refuse"
    """What happens to a container that sees a token and has ``envFrom``, whose variables could name an
    identity that is unknown at admission; applies where the policy is locked or has limits."""
    priority: int = 0
    """Of several policies that give an identity of one cloud the highest counts, then the first by name."""
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    """Values for the names in braces."""

    def concerns(self, namespace: str, account: str) -> bool:
        """Whether the policy is about this account."""
        return any(glob_patterns.matches(glob, namespace) for glob in self.match.namespaces) and any(
            glob_patterns.matches(glob, account) for glob in self.match.service_accounts
        )

    def filled(self, text: str, namespace: str, account: str) -> str:
        """A value with the names in braces replaced."""
        known = {**self.variables, "namespace": namespace, "serviceaccount": account}
        return _FIELD.sub(lambda match: known[match[1]], text)


def parse(data: Any, place: str) -> IdentityPolicy:
    """A policy from decoded data; raises InvalidInput with every problem."""
    return _parsed(data, place, _without_effect(data))


def of_object(obj: Mapping[str, Any]) -> IdentityPolicy:
    """A policy from an object of the kind; raises InvalidInput with every problem."""
    data = _data(obj)
    return _parsed(data, f"{KIND} {_name(obj)}", (*_misplaced_fields(obj), *_without_effect(data)))


def _parsed(data: Any, place: str, more: Iterable[tuple[str, str]]) -> IdentityPolicy:
    found = [*structure.problems(data, IdentityPolicy), *more]
    if isinstance(data, Mapping):
        found += [*_empty(data), *_grammar(data), *_unknown_names(data)]
    if found:
        raise errors.InvalidInput(*(errors.InputProblem(place, field, text) for field, text in found))
    return msgspec.convert(data, IdentityPolicy)


def _misplaced_fields(obj: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Fields at the top of the object, where they are ignored."""
    for key in obj.keys() - {"apiVersion", "kind", "metadata", "spec", "status"}:
        known = {field.encode_name for field in msgspec.structs.fields(IdentityPolicy)}
        hint = f"; did you mean spec.{key}?" if key in known else structure.nearest(str(key), {"spec"})
        yield str(key), f"is no known field of an {KIND}{hint}"


def _name(obj: Mapping[str, Any]) -> str:
    meta = obj.get("metadata")
    return str(meta.get("name", "")) if isinstance(meta, Mapping) else ""


def _data(obj: Mapping[str, Any]) -> dict[str, Any]:
    spec = obj.get("spec")
    if spec is None or isinstance(spec, Mapping):
        return {**(spec or {}), "name": _name(obj)}
    return {"spec": spec, "name": _name(obj)}


_CLOUDS: Final = ("aws", "az", "gcp")
_REQUIRED: Final = {"aws": ("roleArn",), "az": ("clientId", "tenantId"), "gcp": ("provider",)}


def _empty(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is empty where a lock or a limit was meant."""
    given = [cloud for cloud in _CLOUDS if _part(data, "identities").get(cloud) is not None]
    if data.get("locked") is True and not given:
        yield "locked", "is true, want identities.aws, identities.az or identities.gcp, which it would lock"
    for cloud in given:
        for field in _REQUIRED[cloud]:
            if _part(data, "identities", cloud).get(field) == "":
                yield f"identities.{cloud}.{field}", "is empty, want a value"
    for field in ("namespaces", "serviceAccounts"):
        if _part(data, "match").get(field) in ([], ()):
            yield f"match.{field}", "is empty and matches nothing, want at least one name (* for all)"


def _without_effect(data: Any) -> Iterator[tuple[str, str]]:
    """Valid fields without effect, though their author expects one. A stored policy that says so does
    nothing."""
    if not isinstance(data, Mapping):
        return
    limits = data.get("limits")
    if limits is None and not any(_part(data, "identities").get(cloud) for cloud in _CLOUDS):
        yield "identities", "gives no identity, and limits are missing: want one of the two"
    if isinstance(limits, Mapping) and not limits:
        yield "limits", "is empty and limits nothing, want clouds, aws, az, gcp or images"
    for cloud in _CLOUDS:
        for field, value in _part(data, "limits", cloud).items():
            if value in ([], ()):
                yield f"limits.{cloud}.{field}", "is empty, want a glob; leave it out to allow anything"
    for name in sorted(_BUILT_IN & _part(data, "variables").keys()):
        yield f"variables.{name}", f"is never used: {{{name}}} is that of the pod, want another name"


_TEMPLATE: Final = r"(?:[%s]|\{[A-Za-z0-9_-]+\})+"
_GRAPHIC_TEMPLATE: Final = re.compile(_TEMPLATE % r"!#%&()*+,\-./0-9:;<=>?@A-Z\[\]^_a-z|~")
VALUE_PATTERN: Final = r"^[!-~]*$"
"""What a value of an identity or a glob over such values may hold: printable, no blanks."""
_GRAPHIC: Final = re.compile(r"[!-~]+")
_NO_GLOB: Final = re.compile(r"[\^$|\\{}]")
"""Characters of regular expressions and templates, which no cloud's values contain."""


def _grammar(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Texts that are none of their kind, wherever the structure lets them be found."""
    for field in ("namespaces", "serviceAccounts"):
        for index, glob in enumerate(_strings(data, "match", field)):
            if not glob_patterns.is_name_glob(glob):
                low = glob.lower()
                hint = f"; did you mean {low!r}?" if glob_patterns.is_name_glob(low) else ""
                yield f"match.{field}[{index}]", f"is {glob!r}, want a name that may contain *{hint}"
    for cloud in _CLOUDS:
        given = _part(data, "identities", cloud)
        for field, value in given.items():
            if isinstance(value, str) and value and _GRAPHIC_TEMPLATE.fullmatch(value) is None:
                want = "printable characters without blanks, and names in braces"
                yield f"identities.{cloud}.{field}", f"is {value!r}, want {want}"
        for field in _part(data, "limits", cloud):
            yield from _globs(_strings(data, "limits", cloud, field), f"limits.{cloud}.{field}")
    yield from _globs(_strings(data, "limits", "images"), "limits.images")
    variables = data.get("variables")
    for name, value in variables.items() if isinstance(variables, Mapping) else ():
        if isinstance(value, str) and _GRAPHIC.fullmatch(value) is None:
            yield f"variables.{name}", f"is {value!r}, want printable characters without blanks"


def _globs(globs: list[str], path: str) -> Iterator[tuple[str, str]]:
    for index, glob in enumerate(globs):
        if _GRAPHIC.fullmatch(glob) is None:
            yield (
                f"{path}[{index}]",
                f"is {glob!r}, want printable characters without blanks; * is allowed",
            )
        elif _NO_GLOB.search(glob):
            text = "want a glob: * matches any run of characters, every other character itself"
            yield f"{path}[{index}]", f"is {glob!r}, {text}"


def _part(data: Any, *path: str) -> Mapping[str, Any]:
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data if isinstance(data, Mapping) else {}


def _strings(data: Any, *path: str) -> list[str]:
    *parents, last = path
    found = _part(data, *parents).get(last)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list | tuple) else []


def _unknown_names(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Undefined names in braces."""
    known = _BUILT_IN | _part(data, "variables").keys()
    for cloud in _CLOUDS:
        for field, value in _part(data, "identities", cloud).items():
            for name in _FIELD.findall(value) if isinstance(value, str) else ():
                if name not in known:
                    listed = ", ".join(sorted(known))
                    hint = structure.nearest(name, known)
                    yield (
                        f"identities.{cloud}.{field}",
                        f"has {{{name}}}, want one of {listed} (variables may add to them){hint}",
                    )


class BrokenPolicy(NamedTuple):
    """A policy that cannot be understood, and whom it was probably about."""

    name: str
    problems: tuple[errors.InputProblem, ...]
    namespaces: tuple[str, ...] = ("*",)
    service_accounts: tuple[str, ...] = ("*",)
    gives: bool = True
    """Whether it may give identities: then every pod in its scope is refused, since one that asks for nothing
    itself may have had its identity from here."""

    def concerns(self, namespace: str, account: str) -> bool:
        """Whether the policy may be about this account; where it cannot be known, it is."""
        return any(glob_patterns.matches(glob, namespace) for glob in self.namespaces) and any(
            glob_patterns.matches(glob, account) for glob in self.service_accounts
        )


def _scope(data: Any, field: str) -> tuple[str, ...]:
    """The globs of a broken policy as far as they can be read; everything where they cannot."""
    if not isinstance(data, Mapping) or "match" not in data:
        return ("*",)
    match = data["match"]
    if not isinstance(match, Mapping) or not match.keys() <= {"namespaces", "serviceAccounts"}:
        return ("*",)
    listed = match.get(field, ["*"])
    if not isinstance(listed, list | tuple) or not listed:
        return ("*",)
    lowered = [one.lower() if isinstance(one, str) else "*" for one in listed]
    return tuple(one if glob_patterns.is_name_glob(one) else "*" for one in lowered)


_WITHOUT_IDENTITIES: Final = frozenset(
    {"name", "match", "limits", "priority", "variables", "locked", "envFrom"}
)


class LoadedPolicies(msgspec.Struct, frozen=True):
    """The policies that can be used, and those that cannot, with what is wrong."""

    policies: tuple[IdentityPolicy, ...] = ()
    broken: tuple[BrokenPolicy, ...] = ()

    @property
    def problems(self) -> tuple[errors.InputProblem, ...]:
        """What is wrong with all of the broken ones."""
        return tuple(problem for one in self.broken for problem in one.problems)


def load(settings: Sequence[Any], objects: Sequence[Mapping[str, Any]]) -> LoadedPolicies:
    """All policies of the settings file and of the cluster, in the order in which they count."""
    policies: list[IdentityPolicy] = []
    broken: list[BrokenPolicy] = []
    read = [
        (data, f"policies[{position}]", "", _without_effect(data)) for position, data in enumerate(settings)
    ]
    read += [(_data(obj), f"{KIND} {_name(obj)}", _name(obj), iter(())) for obj in objects]
    for data, place, name, more in read:
        try:
            policies.append(_parsed(data, place, more))
        except errors.InvalidInput as error:
            found = tuple(error.problems)
            scope = _scope(data, "namespaces"), _scope(data, "serviceAccounts")
            only_limits = isinstance(data, Mapping) and data.keys() <= _WITHOUT_IDENTITIES
            broken.append(BrokenPolicy(name or place, found, *scope, gives=not only_limits))
    policies.sort(key=lambda policy: (-policy.priority, policy.name))
    return LoadedPolicies(tuple(policies), tuple(broken))
