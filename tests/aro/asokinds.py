"""Minimal definitions of the kinds of Azure Service Operator that clusters are made of.

Strict where the real ones are: an owner, a location and the version of a key are required, so that whoever
takes them back is refused.
"""

from __future__ import annotations

import concurrent.futures
from typing import Any, Final, NamedTuple

from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
CRD: Final = "apiextensions.k8s.io/v1"


class AsoKind(NamedTuple):
    """One kind."""

    group: str
    kind: str
    plural: str
    versions: tuple[str, ...]
    """The last is the one that is stored, and not for users."""
    spec: Json

    @property
    def version(self) -> str:
        """The newest that users write."""
        return self.versions[-2]

    @property
    def api(self) -> str:
        return f"{self.group}/{self.version}"

    def definition(self) -> Json:
        schema = {"type": "object", "properties": {"spec": self.spec, "status": _open()}}
        return {
            "apiVersion": CRD,
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {
                    "kind": self.kind,
                    "listKind": f"{self.kind}List",
                    "plural": self.plural,
                    "singular": self.kind.lower(),
                    "categories": ["azure", self.group.partition(".")[0]],
                },
                "versions": [
                    {
                        "name": version,
                        "served": True,
                        "storage": version == self.versions[-1],
                        "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": schema},
                    }
                    for version in self.versions
                ],
            },
        }


def _open(*required: str, **properties: Json) -> Json:
    created: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if required:
        created["required"] = list(required)
        created["properties"] = {name: _any() for name in required}
    if properties:
        created["properties"] = {**created.get("properties", {}), **properties}
    return created


def _any() -> Json:
    return {"x-kubernetes-preserve-unknown-fields": True}


_KMS: Final = _open("vaultName", "visibility", "activeKey", activeKey=_open("name", "version"))
_HCP: Final = _open(
    "platform",
    "version",
    platform=_open(
        "subnetReference",
        "vnetIntegrationSubnetReference",
        "networkSecurityGroupReference",
        "operatorsAuthentication",
    ),
    etcd=_open(dataEncryption=_open(customerManaged=_open(kms=_KMS))),
)
_OPENSHIFT: Final = ("v1api20251223preview", "v1api20260630preview", "v1api20260630previewstorage")
_NETWORK: Final = ("v1api20201101", "v1api20240301", "v1api20240301storage")

HCP: Final = AsoKind(
    "redhatopenshift.azure.com",
    "HcpOpenShiftCluster",
    "hcpopenshiftclusters",
    _OPENSHIFT,
    _open("location", "owner", properties=_HCP),
)
NODE_POOL: Final = AsoKind(
    "redhatopenshift.azure.com",
    "HcpOpenShiftClustersNodePool",
    "hcpopenshiftclustersnodepools",
    _OPENSHIFT,
    _open("location", "owner", properties=_open("platform")),
)
EXTERNAL_AUTH: Final = AsoKind(
    "redhatopenshift.azure.com",
    "HcpOpenShiftClustersExternalAuth",
    "hcpopenshiftclustersexternalauths",
    _OPENSHIFT,
    _open("owner", properties=_open("claim", "issuer")),
)
GROUP: Final = AsoKind(
    "resources.azure.com",
    "ResourceGroup",
    "resourcegroups",
    ("v1api20200601", "v1api20200601storage"),
    _open("location"),
)
NETWORK: Final = AsoKind(
    "network.azure.com", "VirtualNetwork", "virtualnetworks", _NETWORK, _open("location", "owner")
)
SUBNET: Final = AsoKind(
    "network.azure.com", "VirtualNetworksSubnet", "virtualnetworkssubnets", _NETWORK, _open("owner")
)
SECURITY_GROUP: Final = AsoKind(
    "network.azure.com", "NetworkSecurityGroup", "networksecuritygroups", _NETWORK, _open("owner")
)
VAULT: Final = AsoKind(
    "keyvault.azure.com",
    "Vault",
    "vaults",
    ("v1api20210401preview", "v1api20230701", "v1api20230701storage"),
    _open("location", "owner", "properties"),
)
IDENTITY: Final = AsoKind(
    "managedidentity.azure.com",
    "UserAssignedIdentity",
    "userassignedidentities",
    ("v1api20181130", "v1api20230131", "v1api20230131storage"),
    _open("location", "owner"),
)
ROLE: Final = AsoKind(
    "authorization.azure.com",
    "RoleAssignment",
    "roleassignments",
    ("v1api20200801preview", "v1api20220401", "v1api20220401storage"),
    _open("owner", "roleDefinitionReference"),
)
KINDS: Final = (
    *(GROUP, NETWORK, SUBNET, SECURITY_GROUP, VAULT, IDENTITY, ROLE),
    *(HCP, NODE_POOL, EXTERNAL_AUTH),
)


def install(plane: ControlPlane, kinds: tuple[AsoKind, ...] = KINDS) -> None:
    """Create the definitions and wait until their kinds are served."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda kind: served(plane, kind.definition()), kinds))


def served(plane: ControlPlane, definition: Json) -> None:
    """Create a definition and wait until its kind is served."""
    path = at("customresourcedefinitions", name=definition["metadata"]["name"], api=CRD)
    plane.admin.apply(path, definition, "rig", force=True).object  # noqa: B018 - raises
    spec = definition["spec"]
    for version in spec["versions"]:
        listing = at(spec["names"]["plural"], api=f"{spec['group']}/{version['name']}")
        plane.admin.wait(listing, lambda found: "items" in found)


IDENTITY_REFERENCE: Final = AsoKind(
    "infrastructure.cluster.x-k8s.io",
    "AzureClusterIdentity",
    "azureclusteridentities",
    ("v1beta1", "v1beta1storage"),
    _open("type"),
)
"""No kind of Azure Service Operator, but as little of it is needed."""
