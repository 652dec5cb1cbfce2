"""Names, tags and scopes as in ccoctl, and the rules of Azure for them.

A name that ccoctl would cut, or that Azure refuses, gets a short hash of the full name, so that two that
differ stay two.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.errors import InputProblem, InvalidInput

OWNED: Final = "owned"
ROLE_DESCRIPTION: Final = "Custom role for OpenShift. Owned by: {}"
"""Delete finds our roles by this exact text."""
AUDIENCE: Final = "openshift"
MOST_CREDENTIALS: Final = 20
"""Federated credentials of one identity."""
MOST_TAGS: Final = 50
"""Tags of one resource, ours included."""

_ACCOUNT: Final = re.compile(r"[a-z0-9]{3,24}")
_CONTAINER: Final = re.compile(r"(?=.{3,63}\Z)[a-z0-9]+(-[a-z0-9]+)*")
_GROUP: Final = re.compile(r"[-\w._()]{0,89}[-\w_()]")
_CREDENTIAL: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{2,119}")
_GUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_IDENTITY_LENGTH: Final = 128
_SPACE: Final = uuid.UUID("6b1f5a3e-7d0c-5a4e-9a3c-2f8e4d1c0b7a")

_DNS: Final = frozenset({"openshift-ingress-azure"})
_NETWORK: Final = frozenset(
    {
        "openshift-image-registry-azure",
        "openshift-ingress-azure",
        "openshift-machine-api-azure",
        "azure-file-csi-driver-operator",
        "openshift-cloud-network-config-controller-azure",
        "openshift-azure-cloud-controller-manager",
    }
)


class AzureNames(NamedTuple):
    """Everything that is called something in one run."""

    name: str
    oidc_group: str
    installation_group: str
    account: str
    container: str
    dns_group: str = ""
    network_group: str = ""

    @property
    def owned_tag(self) -> str:
        """The key of the tag that says whose a resource is."""
        return owned_tag(self.name)

    def identity(self, request: CredentialsRequest) -> str:
        """The managed identity of a request, and its custom role."""
        return identity(self.name, request.namespace, request.secret)

    def scopes(self, request: CredentialsRequest) -> tuple[str, ...]:
        """The groups in which a request's identity may act."""
        return scoping_groups(request.name, self.installation_group, self.dns_group, self.network_group)


def owned_tag(name: str) -> str:
    """The key of the tag that says whose a resource is."""
    return f"openshift.io_cloud-credential-operator_{name}"


def identity(name: str, namespace: str, secret: str) -> str:
    """Cut at 128 characters, with a hash where something is cut off."""
    return _cut(f"{name}-{namespace}-{secret}", _IDENTITY_LENGTH)


def credential(account: str) -> str:
    """The name of a federated credential; the subject keeps the true name."""
    if _CREDENTIAL.fullmatch(account):
        return account
    slug = re.sub(r"[^a-zA-Z0-9_-]", "-", account).strip("-_") or "sa"
    return f"{slug[:111]}-{_hash(account)}"


def assignment(scope: str, principal: str, role: str) -> str:
    """The name of a role assignment: the same for the same, so that a rerun is the same write."""
    return str(uuid.uuid5(_SPACE, f"{scope}\n{principal}\n{role}".lower()))


def role(scope: str, name: str) -> str:
    """The name of a custom role definition that does not exist yet."""
    return str(uuid.uuid5(_SPACE, f"{scope}\n{name}".lower()))


def scoping_groups(request: str, installation: str, dns: str, network: str) -> tuple[str, ...]:
    """The resource groups in which a request's identity may act, by the request's name."""
    found = [installation]
    if dns and request in _DNS:
        found.append(dns)
    if network and request in _NETWORK:
        found.append(network)
    return tuple(found)


def ours_by_subject(subject: str, namespace: str) -> bool:
    """Whether a federated credential is for a ServiceAccount of this namespace, as ours are."""
    return subject.startswith(f"system:serviceaccount:{namespace}:")


def account_flaw(name: str) -> str:
    """Why Azure takes no storage account of this name; empty when it does."""
    return "" if _ACCOUNT.fullmatch(name) else "want 3 to 24 lower-case letters and digits"


def merged(have: Mapping[str, str], desired: Mapping[str, str]) -> dict[str, str] | None:
    """The tags to write: those there stay, ours win; None when all wanted ones are there."""
    both = {**have, **desired}
    return None if both == dict(have) else both


def same_region(one: str, other: str) -> bool:
    """Azure calls one region ``East US`` and ``eastus``."""
    return one.replace(" ", "").lower() == other.replace(" ", "").lower()


def same_id(one: str, other: str) -> bool:
    """Resource ids are compared without regard to letter case."""
    return one.rstrip("/").lower() == other.rstrip("/").lower()


def problems(names: AzureNames, *, account: bool, identities: bool) -> Iterator[InputProblem]:
    """What is wrong with the names of a run; ``account``: the storage account is used, too."""
    if not names.name:
        yield InputProblem("--name", "", "is empty, want a name")
    if account and (flaw := account_flaw(names.account)):
        yield InputProblem("--storage-account-name", "", f"is {names.account!r}, {flaw}")
    if account and names.container and not _CONTAINER.fullmatch(names.container):
        want = "want 3 to 63 lower-case letters, digits and single dashes"
        yield InputProblem("--blob-container-name", "", f"is {names.container!r}, {want}")
    groups = {
        "--oidc-resource-group-name": names.oidc_group,
        "--installation-resource-group-name": names.installation_group if identities else "",
        "--dnszone-resource-group-name": names.dns_group,
        "--network-resource-group-name": names.network_group,
    }
    for flag, group in groups.items():
        if group and not _GROUP.fullmatch(group):
            want = "want 1 to 90 letters, digits and -_.(), no period at the end"
            yield InputProblem(flag, "", f"is {group!r}, {want}")
    if identities and names.oidc_group.lower() == names.installation_group.lower():
        text = f"is {names.oidc_group!r}, which --installation-resource-group-name is too, want two groups"
        yield InputProblem("--oidc-resource-group-name", "", text)


def guid_problem(flag: str, value: str) -> Iterator[InputProblem]:
    """Subscriptions and tenants are GUIDs."""
    if not _GUID.fullmatch(value):
        yield InputProblem(flag, "", f"is {value!r}, want a GUID")


def user_tags(texts: Iterable[str]) -> dict[str, str]:
    """``k=v,k2=v2`` as tags; a value may contain ``=``. Raises InvalidInput with every malformed pair."""
    tags: dict[str, str] = {}
    problems = []
    for pair in (pair for text in texts for pair in text.split(",")):
        key, sign, value = pair.partition("=")
        if sign:
            tags[key] = value
        else:
            problems.append(InputProblem("--user-tags", "", f"{pair!r} must be key=value"))
    if problems:
        raise InvalidInput(*problems)
    return tags


def tag_problems(tags: Mapping[str, str]) -> Iterator[InputProblem]:
    """What Azure refuses about tags."""
    if len(tags) >= MOST_TAGS:
        yield InputProblem(
            "--user-tags", "", f"has {len(tags)} tags, want fewer than {MOST_TAGS}: one is ours"
        )
    for key, value in tags.items():
        if not key or len(key) > 512 or any(sign in key for sign in "<>%&\\?/"):
            want = "want up to 512 characters without <>%&\\?/"
            yield InputProblem("--user-tags", "", f"has the key {key!r}, {want}")
        if len(value) > 256:
            yield InputProblem("--user-tags", key, f"has {len(value)} characters, want up to 256")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 9]}-{_hash(text)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
