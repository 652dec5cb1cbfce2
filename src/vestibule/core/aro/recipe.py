"""A complete, current set of manifests for one cluster from a few answers: thirteen identities, what each of
them may do where, networks, vault, cluster, pool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from vestibule import errors
from vestibule.core.aro import names
from vestibule.core.aro.embedded import Object

VERSION: Final = "v1api20260630preview"
_GUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,13}[a-z0-9])?")

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


class Answers(NamedTuple):
    """What only the user knows."""

    name: str
    subscription: str
    location: str
    namespace: str = "default"
    version: str = "4.20"
    pool_version: str = "4.20.8"
    replicas: int = 2
    vm_size: str = "Standard_D8s_v3"
    vault: str = ""
    """In Azure; empty: made from the name."""
    identity: str = ""
    """An AzureClusterIdentity; empty: credentials are those of Azure Service Operator."""
    key_version: str = ""
    """Needed where there is no identity."""
    credential: str = ""
    """The Secret of Azure Service Operator's credentials; empty: its default."""
    issuer: str = ""
    """How people sign in; empty: not at all."""
    audience: str = ""
    private: bool = False
    """Whether the API server is reached from inside only."""


def problems(answers: Answers) -> list[errors.Problem]:
    """What is wrong with the answers."""
    found = []

    def wrong(option: str, text: str) -> None:
        found.append(errors.Problem(option, "", text))

    if not _NAME.fullmatch(answers.name):
        wrong("--name", f"is {answers.name!r}, want up to 15 of a-z, 0-9 and '-', a letter first")
    if not _GUID.fullmatch(answers.subscription):
        wrong("--subscription", f"is {answers.subscription!r}, want a GUID")
    if not re.fullmatch(r"[a-z][a-z0-9]+", answers.location):
        wrong("--location", f"is {answers.location!r}, want a region such as 'eastus'")
    if not re.fullmatch(r"\d+\.\d+", answers.version):
        wrong("--version", f"is {answers.version!r}, want X.Y")
    if not re.fullmatch(r"\d+\.\d+\.\d+", answers.pool_version):
        wrong("--pool-version", f"is {answers.pool_version!r}, want X.Y.Z")
    elif not answers.pool_version.startswith(f"{answers.version}."):
        wrong("--pool-version", f"is {answers.pool_version!r}, want a patch of {answers.version}")
    if not 0 <= answers.replicas <= 200:
        wrong("--replicas", f"is {answers.replicas}, want 0 to 200")
    if not re.fullmatch(r"[a-zA-Z][-a-zA-Z0-9]{1,22}[a-zA-Z0-9]", vault(answers)):
        wrong("--vault", f"is {vault(answers)!r}, want 3 to 24 letters, digits and '-'")
    if not answers.identity and not answers.key_version:
        wrong("--key-version", "is missing: without --identity nobody but you can know it")
    if answers.issuer and not answers.audience:
        wrong("--audience", "is missing: an issuer wants one")
    return found


def vault(answers: Answers) -> str:
    """Of the whole world no other vault has this name: it is made from name and subscription."""
    if answers.vault:
        return answers.vault
    return f"{answers.name}-kv-{uuid5(NAMESPACE_URL, f'{answers.subscription}/{answers.name}').hex[:4]}"


def manifests(answers: Answers) -> list[Object]:
    """Everything, in the order in which it should be applied. Raises InvalidInput with every problem."""
    found = problems(answers)
    if found:
        raise errors.InvalidInput(*found)
    a = answers
    label = {names.CLUSTER_NAME: a.name}
    return [
        _object(
            names.CLUSTER.api_version,
            "Cluster",
            a,
            a.name,
            {
                "infrastructureRef": _ref(names.INFRASTRUCTURE, "AROCluster", a.name),
                "controlPlaneRef": _ref(names.CONTROL_PLANE, "AROControlPlane", a.name),
            },
        ),
        _object(
            names.ARO_CLUSTER.api_version,
            "AROCluster",
            a,
            a.name,
            {"resources": list(_infrastructure(a))},
            label,
        ),
        _object(
            names.ARO_CONTROL_PLANE.api_version,
            "AROControlPlane",
            a,
            a.name,
            {
                "subscriptionID": a.subscription,
                **(
                    {
                        "identityRef": {
                            "kind": "AzureClusterIdentity",
                            "name": a.identity,
                            "namespace": a.namespace,
                        }
                    }
                    if a.identity
                    else {}
                ),
                "resources": list(_control_plane(a)),
            },
            label,
        ),
        *_pool(a, label),
    ]


def _object(
    api_version: str, kind: str, a: Answers, name: str, spec: Object, labels: dict[str, str] | None = None
) -> Object:
    meta: Object = {"name": name, "namespace": a.namespace}
    if labels:
        meta["labels"] = dict(labels)
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}


def _ref(group: str, kind: str, name: str) -> Object:
    return {"apiGroup": group, "kind": kind, "name": name}


def _resource(a: Answers, api_version: str, kind: str, name: str, spec: Object) -> Object:
    meta: Object = {"name": name}
    if a.credential:
        meta["annotations"] = {names.CREDENTIAL_FROM: a.credential}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}


_NETWORK: Final = "network.azure.com/v1api20240301"


def _infrastructure(a: Answers) -> Iterator[Object]:
    group = {"name": _named(a, "rg")}
    yield _resource(
        a, "resources.azure.com/v1api20200601", "ResourceGroup", group["name"], {"location": a.location}
    )
    nsg, vnet = _named(a, "nsg"), _named(a, "vnet")
    yield _resource(a, _NETWORK, "NetworkSecurityGroup", nsg, {"location": a.location, "owner": group})
    space = {"addressSpace": {"addressPrefixes": ["10.0.0.0/15"]}}
    yield _resource(a, _NETWORK, "VirtualNetwork", vnet, {"location": a.location, "owner": group, **space})
    yield _resource(
        a,
        _NETWORK,
        "VirtualNetworksSubnet",
        _named(a, "subnet"),
        {
            "owner": {"name": vnet},
            "addressPrefix": "10.0.0.0/16",
            "networkSecurityGroup": {
                "reference": {"group": "network.azure.com", "kind": "NetworkSecurityGroup", "name": nsg}
            },
        },
    )
    yield _resource(
        a,
        _NETWORK,
        "VirtualNetworksSubnet",
        _named(a, "integration"),
        {
            "owner": {"name": vnet},
            "addressPrefix": "10.1.0.0/24",
            "delegations": [
                {"name": "aro-hcp", "serviceName": "Microsoft.RedHatOpenShift/hcpOpenShiftClusters"}
            ],
        },
    )
    yield _resource(
        a,
        "keyvault.azure.com/v1api20230701",
        "Vault",
        _named(a, "vault"),
        {
            "azureName": vault(a),
            "location": a.location,
            "owner": group,
            "properties": {
                "tenantIdFromConfig": {"name": _config(a, SERVICE), "key": "tenantId"},
                "enableRbacAuthorization": True,
                "enablePurgeProtection": True,
                "sku": {"family": "A", "name": "standard"},
            },
        },
    )
    for one in _identities():
        exported = {
            "principalId": {"name": _config(a, one), "key": "principalId"},
            "tenantId": {"name": _config(a, one), "key": "tenantId"},
        }
        yield _resource(
            a,
            "managedidentity.azure.com/v1api20230131",
            "UserAssignedIdentity",
            _named(a, one),
            {"location": a.location, "owner": group, "operatorSpec": {"configMaps": exported}},
        )
    for who, role, where in _MAY:
        yield _assignment(a, who, role, where)


def _assignment(a: Answers, who: str, role: str, where: str) -> Object:
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
    return _resource(
        a,
        "authorization.azure.com/v1api20220401",
        "RoleAssignment",
        _named(a, f"{who}-{role}-{where}"),
        {
            "owner": {"group": group, "kind": kind, "name": _named(a, where)},
            "principalIdFromConfig": {"name": _config(a, who), "key": "principalId"},
            "principalType": "ServicePrincipal",
            "roleDefinitionReference": {"armId": definition},
        },
    )


def _identities() -> list[str]:
    return [*(f"cp-{one}" for one in CONTROL_PLANE), *(f"dp-{one}" for one in DATA_PLANE), SERVICE]


def _named(a: Answers, suffix: str) -> str:
    return f"{a.name}-{suffix}"


def _config(a: Answers, identity: str) -> str:
    return _named(a, f"{identity}-ids")


def _identity(a: Answers, one: str) -> Object:
    return {"group": "managedidentity.azure.com", "kind": "UserAssignedIdentity", "name": _named(a, one)}


def _control_plane(a: Answers) -> Iterator[Object]:
    def network(kind: str, suffix: str) -> Object:
        return {"group": "network.azure.com", "kind": kind, "name": _named(a, suffix)}

    active: Object = {"name": names.DEFAULT_KEY}
    if a.key_version:
        active["version"] = a.key_version
    own = [*(f"cp-{one}" for one in CONTROL_PLANE), SERVICE]
    properties: dict[str, Any] = {
        "version": {"id": a.version, "channelGroup": "stable"},
        "api": {"visibility": "Private" if a.private else "Public"},
        "dns": {"baseDomainPrefix": a.name},
        "network": {
            "networkType": "OVNKubernetes",
            "machineCidr": "10.0.0.0/16",
            "podCidr": "10.128.0.0/14",
            "serviceCidr": "172.30.0.0/16",
            "hostPrefix": 23,
        },
        "etcd": {
            "dataEncryption": {
                "keyManagementMode": "CustomerManaged",
                "customerManaged": {
                    "encryptionType": "KMS",
                    "kms": {"vaultName": vault(a), "visibility": "Public", "activeKey": active},
                },
            }
        },
        "platform": {
            "managedResourceGroup": _named(a, "managed"),
            "outboundType": "LoadBalancer",
            "subnetReference": network("VirtualNetworksSubnet", "subnet"),
            "vnetIntegrationSubnetReference": network("VirtualNetworksSubnet", "integration"),
            "networkSecurityGroupReference": network("NetworkSecurityGroup", "nsg"),
            "operatorsAuthentication": {
                "userAssignedIdentities": {
                    "controlPlaneOperatorsReferences": {
                        one: _identity(a, f"cp-{one}") for one in CONTROL_PLANE
                    },
                    "dataPlaneOperatorsReferences": {one: _identity(a, f"dp-{one}") for one in DATA_PLANE},
                    "serviceManagedIdentityReference": _identity(a, SERVICE),
                }
            },
        },
    }
    yield _resource(
        a,
        f"{names.OPENSHIFT}/{VERSION}",
        names.HCP,
        a.name,
        {
            "azureName": a.name,
            "location": a.location,
            "owner": {"name": _named(a, "rg")},
            "identity": {
                "type": "UserAssigned",
                "userAssignedIdentities": [{"reference": _identity(a, one)} for one in own],
            },
            "properties": properties,
        },
    )
    if a.issuer:
        yield _resource(
            a,
            f"{names.OPENSHIFT}/{VERSION}",
            names.EXTERNAL_AUTH,
            f"{a.name}-ea",
            {
                "azureName": "entra",
                "owner": {"name": a.name},
                "properties": {
                    "issuer": {"url": a.issuer, "audiences": [a.audience]},
                    "claim": {
                        "mappings": {
                            "username": {"claim": "oid", "prefixPolicy": "NoPrefix"},
                            "groups": {"claim": "groups"},
                        }
                    },
                },
            },
        )


def _pool(a: Answers, label: dict[str, str]) -> Iterator[Object]:
    name = f"{a.name}-workers"
    yield _object(
        names.MACHINE_POOL.api_version,
        "MachinePool",
        a,
        name,
        {
            "clusterName": a.name,
            "replicas": a.replicas,
            "template": {
                "spec": {
                    "clusterName": a.name,
                    "version": a.pool_version,
                    "bootstrap": {"dataSecretName": f"{a.name}-kubeconfig"},
                    "infrastructureRef": _ref(names.INFRASTRUCTURE, "AROMachinePool", name),
                }
            },
        },
        label,
    )
    resource = _resource(
        a,
        f"{names.OPENSHIFT}/{VERSION}",
        names.NODE_POOL,
        name,
        {
            "azureName": "workers",
            "location": a.location,
            "owner": {"name": a.name},
            "properties": {
                "platform": {
                    "vmSize": a.vm_size,
                    "subnetReference": {
                        "group": "network.azure.com",
                        "kind": "VirtualNetworksSubnet",
                        "name": _named(a, "subnet"),
                    },
                    "osDisk": {"sizeGiB": 128, "diskStorageAccountType": "Premium_LRS"},
                },
                "autoRepair": True,
            },
        },
    )
    yield _object(
        names.ARO_MACHINE_POOL.api_version, "AROMachinePool", a, name, {"resources": [resource]}, label
    )
