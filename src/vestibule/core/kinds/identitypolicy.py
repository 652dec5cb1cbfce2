"""``IdentityPolicy``: what an administrator says about many ServiceAccounts at once.

A policy maps namespaces and accounts to identities without a word in any workload, and limits what those may
ask for. It stands in the cluster as an object of its own kind, or in the settings file. One that cannot be
understood is never ignored: settings with such a policy are not loaded, and an object of the cluster refuses
identities in its scope until it is repaired. It takes neither the other policies nor the webhook down.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from vestibule import errors
from vestibule.core.kinds import selectors, structure
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


Cloud = Literal["aws", "az", "gcp"]


class Limits(Section, frozen=True):
    """What the accounts may ask for, wherever they ask; a pod that asks for more is refused."""

    clouds: tuple[Cloud, ...] = ("aws", "az", "gcp")
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
    found = [errors.Problem(place, field, text) for field, text in structure.problems(data, IdentityPolicy)]
    if isinstance(data, Mapping):
        found += [errors.Problem(place, field, text) for field, text in _grammar(data)]
        found += [errors.Problem(place, field, text) for field, text in _unknown_names(data)]
    if found:
        raise errors.InvalidInput(*found)
    return msgspec.convert(data, IdentityPolicy)


def of_object(obj: Mapping[str, Any]) -> IdentityPolicy:
    """A policy from an object of the kind; raises InvalidInput with every problem."""
    return parse(_data(obj), f"{KIND} {_name(obj)}")


def _name(obj: Mapping[str, Any]) -> str:
    meta = obj.get("metadata")
    return str(meta.get("name", "")) if isinstance(meta, Mapping) else ""


def _data(obj: Mapping[str, Any]) -> dict[str, Any]:
    spec = obj.get("spec")
    if spec is None or isinstance(spec, Mapping):
        return {**(spec or {}), "name": _name(obj)}
    return {"spec": spec, "name": _name(obj)}


_TEMPLATE: Final = r"(?:[%s]|\{[A-Za-z0-9_-]+\})+"
_GRAPHIC_TEMPLATE: Final = re.compile(_TEMPLATE % r"!#%&()*+,\-./0-9:;<=>?@A-Z\[\]^_a-z|~")
VALUE_PATTERN: Final = r"^[!-~]*$"
"""What a value of an identity or a glob over such values may hold: printable, no blanks."""
_GRAPHIC: Final = re.compile(r"[!-~]+")


def _grammar(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Texts that are none of their kind, wherever the structure lets them be found."""
    for field in ("namespaces", "serviceAccounts"):
        for index, glob in enumerate(_strings(data, "match", field)):
            if not selectors.is_name_glob(glob):
                low = glob.lower()
                hint = f"; did you mean {low!r}?" if selectors.is_name_glob(low) else ""
                yield f"match.{field}[{index}]", f"is {glob!r}, want a name in which * may stand{hint}"
    for cloud in ("aws", "az", "gcp"):
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
                f"is {glob!r}, want printable characters without blanks; * may stand in it",
            )


def _part(data: Any, *path: str) -> Mapping[str, Any]:
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data if isinstance(data, Mapping) else {}


def _strings(data: Any, *path: str) -> list[str]:
    *parents, last = path
    found = _part(data, *parents).get(last)
    return [one for one in found if isinstance(one, str)] if isinstance(found, list | tuple) else []


def _unknown_names(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names in braces that nobody defines."""
    known = _BUILT_IN | _part(data, "variables").keys()
    for cloud in ("aws", "az", "gcp"):
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
    problems: tuple[errors.Problem, ...]
    namespaces: tuple[str, ...] = ("*",)
    service_accounts: tuple[str, ...] = ("*",)
    gives: bool = True
    """Whether it may give identities: then every pod in its scope is refused, since one that asks for nothing
    itself may have had its identity from here."""

    def concerns(self, namespace: str, account: str) -> bool:
        """Whether the policy may be about this account; where it cannot be known, it is."""
        return any(selectors.matches(glob, namespace) for glob in self.namespaces) and any(
            selectors.matches(glob, account) for glob in self.service_accounts
        )


def _scope(data: Any, field: str) -> tuple[str, ...]:
    """The globs of a broken policy as far as they can be read; everything where they cannot."""
    if not isinstance(data, Mapping) or "match" not in data:
        return ("*",)
    match = data["match"]
    if not isinstance(match, Mapping) or not match.keys() <= {"namespaces", "serviceAccounts"}:
        return ("*",)
    listed = match.get(field, ["*"])
    if not isinstance(listed, list | tuple):
        return ("*",)
    lowered = [one.lower() if isinstance(one, str) else "*" for one in listed]
    return tuple(one if selectors.is_name_glob(one) else "*" for one in lowered)


_WITHOUT_IDENTITIES: Final = frozenset({"name", "match", "limits", "priority", "variables", "locked"})


class Loaded(msgspec.Struct, frozen=True):
    """The policies that can be used, and those that cannot, with what is wrong."""

    policies: tuple[IdentityPolicy, ...] = ()
    broken: tuple[BrokenPolicy, ...] = ()

    @property
    def problems(self) -> tuple[errors.Problem, ...]:
        """What is wrong with all of the broken ones."""
        return tuple(problem for one in self.broken for problem in one.problems)


def load(settings: Sequence[Any], objects: Sequence[Mapping[str, Any]]) -> Loaded:
    """All policies of the settings file and of the cluster, in the order in which they count."""
    policies: list[IdentityPolicy] = []
    broken: list[BrokenPolicy] = []
    read = [(data, f"policies[{position}]", "") for position, data in enumerate(settings)]
    read += [(_data(obj), f"{KIND} {_name(obj)}", _name(obj)) for obj in objects]
    for data, place, name in read:
        try:
            policies.append(parse(data, place))
        except errors.InvalidInput as error:
            found = tuple(error.problems)
            scope = _scope(data, "namespaces"), _scope(data, "serviceAccounts")
            only_limits = isinstance(data, Mapping) and data.keys() <= _WITHOUT_IDENTITIES
            broken.append(BrokenPolicy(name or place, found, *scope, gives=not only_limits))
    policies.sort(key=lambda policy: (-policy.priority, policy.name))
    return Loaded(tuple(policies), tuple(broken))
