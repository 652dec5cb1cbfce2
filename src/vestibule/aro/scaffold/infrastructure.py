"""The infrastructure of a recipe: group, networks, vault, thirteen identities, and what each may do where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vestibule.aro.embedded import Object
from vestibule.aro.scaffold.answers import ScaffoldAnswers, config, named, resource, vault

CONTROL_PLANE: Final = (
    "cloud-controller-manager", "cloud-network-config", "cluster-api-azure", "control-plane",
    "disk-csi-driver", "file-csi-driver", "image-registry", "ingress", "kms",
)  # fmt: skip
DATA_PLANE: Final = ("disk-csi-driver", "file-csi-driver", "image-registry")
SERVICE: Final = "service-managed-identity"
_ROLES: Final = {
    "reader": "acdd72a7-3385-48ef-bd42-f606fba81ae7",
    "cluster-api": "88366f10-ed47-4cc0-9fab-c8a06148393e",
    "control-plane": "fc0c873f-45e9-4d0d-a7d1-585aab30c6ed",
    "cloud-controller": "a1f96423-95ce-4224-ab27-4e3dc72facd4",
    "ingress": "0336e1d3-7a87-462b-b6db-342b63f7802c",
    "file-storage": "0d7aedc0-15fd-4a67-a412-efad370c947e",
    "network": "be7a6435-15ae-4171-8f30-4a343eff9e8f",
    "crypto-user": "12338af0-0e69-4776-bea7-57ae8d297424",
    "federated": "ef318e2a-8334-4a05-9e4a-295a196c6a6e",
    "service": "c0ff367d-66d8-445e-917c-583feb0ef0d4",
}
"""Roles that Azure has built in."""
_MAY: Final = (
    ("cp-cluster-api-azure", "cluster-api", "subnet"),
    ("cp-control-plane", "control-plane", "vnet"),
    ("cp-control-plane", "control-plane", "nsg"),
    ("cp-cloud-controller-manager", "cloud-controller", "subnet"),
    ("cp-cloud-controller-manager", "cloud-controller", "nsg"),
    ("cp-ingress", "ingress", "subnet"),
    ("cp-file-csi-driver", "file-storage", "subnet"),
    ("cp-file-csi-driver", "file-storage", "nsg"),
    ("cp-cloud-network-config", "network", "subnet"),
    ("cp-cloud-network-config", "network", "vnet"),
    ("cp-kms", "crypto-user", "vault"),
    ("dp-file-csi-driver", "file-storage", "subnet"),
    ("dp-file-csi-driver", "file-storage", "nsg"),
    (SERVICE, "service", "vnet"),
    (SERVICE, "service", "subnet"),
    (SERVICE, "service", "integration"),
    (SERVICE, "service", "nsg"),
    *((SERVICE, "reader", f"cp-{one}") for one in CONTROL_PLANE),
    *((SERVICE, "federated", f"dp-{one}") for one in DATA_PLANE),
)
"""Who may do what where: 29 assignments."""


_NETWORK: Final = "network.azure.com/v1api20240301"


def infrastructure(a: ScaffoldAnswers) -> Iterator[Object]:
    group = {"name": named(a, "rg")}
    yield resource(
        a, "resources.azure.com/v1api20200601", "ResourceGroup", group["name"], {"location": a.location}
    )
    nsg, vnet = named(a, "nsg"), named(a, "vnet")
    yield resource(a, _NETWORK, "NetworkSecurityGroup", nsg, {"location": a.location, "owner": group})
    space = {"addressSpace": {"addressPrefixes": ["10.0.0.0/15"]}}
    yield resource(a, _NETWORK, "VirtualNetwork", vnet, {"location": a.location, "owner": group, **space})
    yield resource(
        a,
        _NETWORK,
        "VirtualNetworksSubnet",
        named(a, "subnet"),
        {
            "owner": {"name": vnet},
            "addressPrefix": "10.0.0.0/16",
            "networkSecurityGroup": {
                "reference": {"group": "network.azure.com", "kind": "NetworkSecurityGroup", "name": nsg}
            },
        },
    )
    yield resource(
        a,
        _NETWORK,
        "VirtualNetworksSubnet",
        named(a, "integration"),
        {
            "owner": {"name": vnet},
            "addressPrefix": "10.1.0.0/24",
            "delegations": [
                {"name": "aro-hcp", "serviceName": "Microsoft.RedHatOpenShift/hcpOpenShiftClusters"}
            ],
        },
    )
    yield resource(
        a,
        "keyvault.azure.com/v1api20230701",
        "Vault",
        named(a, "vault"),
        {
            "azureName": vault(a),
            "location": a.location,
            "owner": group,
            "properties": {
                "tenantIdFromConfig": {"name": config(a, SERVICE), "key": "tenantId"},
                "enableRbacAuthorization": True,
                "enablePurgeProtection": True,
                "sku": {"family": "A", "name": "standard"},
            },
        },
    )
    for one in identities():
        exported = {
            "principalId": {"name": config(a, one), "key": "principalId"},
            "tenantId": {"name": config(a, one), "key": "tenantId"},
        }
        yield resource(
            a,
            "managedidentity.azure.com/v1api20230131",
            "UserAssignedIdentity",
            named(a, one),
            {"location": a.location, "owner": group, "operatorSpec": {"configMaps": exported}},
        )
    for who, role, where in _MAY:
        yield _assignment(a, who, role, where)


def _assignment(a: ScaffoldAnswers, who: str, role: str, where: str) -> Object:
    kinds = {
        "vnet": ("network.azure.com", "VirtualNetwork"),
        "subnet": ("network.azure.com", "VirtualNetworksSubnet"),
        "integration": ("network.azure.com", "VirtualNetworksSubnet"),
        "nsg": ("network.azure.com", "NetworkSecurityGroup"),
        "vault": ("keyvault.azure.com", "Vault"),
    }
    group, kind = kinds.get(where, ("managedidentity.azure.com", "UserAssignedIdentity"))
    definition = (
        f"/subscriptions/{a.subscription}/providers/Microsoft.Authorization/roleDefinitions/{_ROLES[role]}"
    )
    return resource(
        a,
        "authorization.azure.com/v1api20220401",
        "RoleAssignment",
        named(a, f"{who}-{role}-{where}"),
        {
            "owner": {"group": group, "kind": kind, "name": named(a, where)},
            "principalIdFromConfig": {"name": config(a, who), "key": "principalId"},
            "principalType": "ServicePrincipal",
            "roleDefinitionReference": {"armId": definition},
        },
    )


def identities() -> list[str]:
    return [*(f"cp-{one}" for one in CONTROL_PLANE), *(f"dp-{one}" for one in DATA_PLANE), SERVICE]
