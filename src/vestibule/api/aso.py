"""The kinds of Azure Service Operator that an ARO object may carry: a finite list, as data.

All of them are namespaced. What is not in the list is refused wherever embedded resources are read, and the
operator has no permissions on it. An administrator may add kinds, each by group, kind and plural; none can
add a kind of another API group than those of Azure Service Operator, and there are no wildcards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from vestibule import errors


class AsoKind(NamedTuple):
    """One kind, in whatever version."""

    group: str
    kind: str
    plural: str

    @property
    def name(self) -> str:
        """As rules and messages name it."""
        return f"{self.group}/{self.kind}"

    def __str__(self) -> str:
        return f"{self.group}/{self.kind}/{self.plural}"


SHIPPED: Final = (
    AsoKind("authorization.azure.com", "RoleAssignment", "roleassignments"),
    AsoKind("keyvault.azure.com", "Vault", "vaults"),
    AsoKind("managedidentity.azure.com", "UserAssignedIdentity", "userassignedidentities"),
    AsoKind("network.azure.com", "NetworkSecurityGroup", "networksecuritygroups"),
    AsoKind("network.azure.com", "VirtualNetwork", "virtualnetworks"),
    AsoKind("network.azure.com", "VirtualNetworksSubnet", "virtualnetworkssubnets"),
    AsoKind("redhatopenshift.azure.com", "HcpOpenShiftCluster", "hcpopenshiftclusters"),
    AsoKind(
        "redhatopenshift.azure.com", "HcpOpenShiftClustersExternalAuth", "hcpopenshiftclustersexternalauths"
    ),
    AsoKind("redhatopenshift.azure.com", "HcpOpenShiftClustersNodePool", "hcpopenshiftclustersnodepools"),
    AsoKind("resources.azure.com", "ResourceGroup", "resourcegroups"),
)
"""What clusters are made of."""

PATTERN: Final = (
    r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.){1,4}azure\.com/[A-Z][A-Za-z0-9]{0,62}/[a-z][a-z0-9]{0,62}$"
)
"""Of a kind that is added, ``GROUP/KIND/PLURAL``."""
EXPECTED: Final = (
    "GROUP/KIND/PLURAL of a namespaced kind of Azure Service Operator, such as "
    "network.azure.com/NatGateway/natgateways, without wildcards"
)
MOST: Final = 64
"""Kinds that may be added."""
_ADDED: Final = re.compile(PATTERN.removesuffix("$") + r"\Z")


class PermittedKinds:
    """The kinds that count in one process."""

    def __init__(self, added: Sequence[AsoKind] = ()) -> None:
        self.kinds: tuple[AsoKind, ...] = (*added, *SHIPPED)
        self._known = {(one.group, one.kind): one for one in self.kinds}

    def find(self, group: str, kind: str) -> AsoKind | None:
        """The kind; None when it may not be embedded."""
        return self._known.get((group, kind))


STANDARD: Final = PermittedKinds()
"""The default: no added kinds."""


def problem(value: str, before: Iterable[str] = ()) -> str:
    """What is wrong with a kind that is to be added; empty when nothing is."""
    if not _ADDED.match(value):
        return EXPECTED
    group, kind, plural = value.split("/")
    known = {(one.group, one.kind): one for one in SHIPPED}
    if (group, kind) in known:
        return f"a kind that is not in the list already (it has {known[group, kind]})"
    for other in before:
        if other.rpartition("/")[0] == f"{group}/{kind}" or other == f"{group}/{kind}/{plural}":
            return "each kind once"
    return ""


def permitted(added: Sequence[str], where: str) -> PermittedKinds:
    """The shipped kinds and these; ``where`` names what they were given by. Raises InvalidSettings."""
    wrong = [
        errors.InputProblem(where, "", f"is {value!r}, want {text}")
        for index, value in enumerate(added)
        if (text := problem(value, added[:index]))
    ]
    if len(added) > MOST:
        wrong.append(errors.InputProblem(where, "", f"is given {len(added)} times, want at most {MOST}"))
    if wrong:
        raise errors.InvalidSettings(*wrong)
    return PermittedKinds([AsoKind(*value.split("/")) for value in added])
