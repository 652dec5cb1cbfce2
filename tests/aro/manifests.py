"""A whole cluster as users write it: six kinds of infrastructure, the cluster itself, and a pool."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tests.aro import asokinds
from tests.aro.asokinds import AsoKind
from tests.rig.client import at

Json = dict[str, Any]
CAPI: Final = "cluster.x-k8s.io/v1beta2"
INFRASTRUCTURE: Final = "infrastructure.cluster.x-k8s.io/v1beta2"
CONTROL_PLANE: Final = "controlplane.cluster.x-k8s.io/v1beta2"
KEY_VERSION: Final = "0123456789abcdef"
_PLURALS: Final = {
    "Cluster": ("clusters", CAPI),
    "MachinePool": ("machinepools", CAPI),
    "AROCluster": ("aroclusters", INFRASTRUCTURE),
    "AROControlPlane": ("arocontrolplanes", CONTROL_PLANE),
    "AROMachinePool": ("aromachinepools", INFRASTRUCTURE),
    "AzureClusterIdentity": ("azureclusteridentities", "infrastructure.cluster.x-k8s.io/v1beta1"),
    "Secret": ("secrets", "v1"),
    **{kind.kind: (kind.plural, kind.api) for kind in asokinds.KINDS},
}


def path(kind: str, namespace: str, name: str = "", sub: str = "") -> str:
    """Where an object of one of the kinds is."""
    plural, api = _PLURALS[kind]
    return at(plural, namespace, name, sub, api=api)


class Wish(NamedTuple):
    """What is wanted of a cluster."""

    name: str
    identity: str = ""
    """Of the AzureClusterIdentity; empty: credentials are left to Azure Service Operator."""
    auth: bool = False
    """With an ExternalAuth."""
    replicas: int = 2
    encrypted: bool = True
    destination: str = ""
    """Secret for the kubeconfig; empty: what is the default."""


def resource(kind: AsoKind, name: str, spec: Json, **meta: Any) -> Json:
    """An embedded resource."""
    return {"apiVersion": kind.api, "kind": kind.kind, "metadata": {"name": name, **meta}, "spec": spec}


def infrastructure(wish: Wish) -> list[Json]:
    """Written in the wrong order, as people do."""
    name = wish.name
    group = {"name": f"{name}-rg"}
    network = {"group": "network.azure.com", "kind": "VirtualNetwork", "name": f"{name}-vnet"}
    return [
        resource(asokinds.SUBNET, f"{name}-subnet", {"owner": {"name": f"{name}-vnet"}}),
        resource(
            asokinds.ROLE,
            f"{name}-role",
            {"owner": network, "roleDefinitionReference": {"wellKnownName": "Reader"}},
        ),
        resource(asokinds.NETWORK, f"{name}-vnet", {"location": "eastus", "owner": group}),
        resource(
            asokinds.VAULT,
            f"{name}-kv",
            {"azureName": f"{name}-vault", "location": "eastus", "owner": group, "properties": {"sku": {}}},
        ),
        resource(asokinds.IDENTITY, f"{name}-id", {"location": "eastus", "owner": group}),
        resource(asokinds.GROUP, f"{name}-rg", {"location": "eastus"}),
    ]


def hcp(wish: Wish) -> Json:
    """The cluster itself."""
    name = wish.name
    key: Json = {"name": "etcd-data-kms-encryption-key"}
    if not wish.identity:
        key["version"] = KEY_VERSION
    subnet = {"group": "network.azure.com", "kind": "VirtualNetworksSubnet", "name": f"{name}-subnet"}
    properties: Json = {
        "version": {"id": "4.20", "channelGroup": "stable"},
        "platform": {
            "subnetReference": subnet,
            "vnetIntegrationSubnetReference": subnet,
            "networkSecurityGroupReference": {"armId": "/subscriptions/s/nsg"},
            "operatorsAuthentication": {"userAssignedIdentities": {}},
        },
    }
    if wish.encrypted:
        kms = {"vaultName": f"{name}-vault", "visibility": "Public", "activeKey": key}
        managed = {"encryptionType": "KMS", "kms": kms}
        encryption = {"keyManagementMode": "CustomerManaged", "customerManaged": managed}
        properties["etcd"] = {"dataEncryption": encryption}
    spec: Json = {"location": "eastus", "owner": {"name": f"{name}-rg"}, "properties": properties}
    if wish.destination:
        spec["operatorSpec"] = {"secrets": {"adminCredentials": {"name": wish.destination, "key": "config"}}}
    return resource(asokinds.HCP, name, spec)


def auth(wish: Wish) -> Json:
    """How people sign in; its owner is left out."""
    claim = {"mappings": {"username": {"claim": "email"}}}
    issuer = {"url": "https://login.example.com", "audiences": ["a"]}
    properties = {"claim": claim, "issuer": issuer}
    return resource(asokinds.EXTERNAL_AUTH, f"{wish.name}-ea", {"properties": properties})


def node_pool(wish: Wish, name: str = "np") -> Json:
    """A pool without a count and a version: the MachinePool's are taken."""
    spec = {
        "azureName": name,
        "location": "eastus",
        "properties": {"platform": {"vmSize": "Standard_D8s_v3"}},
    }
    return resource(asokinds.NODE_POOL, f"{wish.name}-{name}", spec)


def cluster(wish: Wish, namespace: str) -> list[Json]:
    """Everything but the pool."""
    name = wish.name
    group, _ = INFRASTRUCTURE.split("/")
    infrastructure_ref = {"apiGroup": group, "kind": "AROCluster", "name": f"{name}-infra"}
    control_plane_ref = {
        "apiGroup": CONTROL_PLANE.split("/", maxsplit=1)[0],
        "kind": "AROControlPlane",
        "name": f"{name}-cp",
    }
    control_plane: Json = {"resources": [hcp(wish), *([auth(wish)] if wish.auth else [])]}
    if wish.identity:
        control_plane["identityRef"] = {"kind": "AzureClusterIdentity", "name": wish.identity}
    specs: list[tuple[str, str, str, Json]] = [
        (
            CAPI,
            "Cluster",
            name,
            {"infrastructureRef": infrastructure_ref, "controlPlaneRef": control_plane_ref},
        ),
        (INFRASTRUCTURE, "AROCluster", f"{name}-infra", {"resources": infrastructure(wish)}),
        (CONTROL_PLANE, "AROControlPlane", f"{name}-cp", control_plane),
    ]
    return [_object(*one, namespace) for one in specs]


def pool(wish: Wish, namespace: str, name: str = "np") -> list[Json]:
    """A MachinePool and its AROMachinePool."""
    own = f"{wish.name}-{name}"
    template = {
        "clusterName": wish.name,
        "version": "v4.20.8",
        "bootstrap": {"dataSecretName": f"{wish.name}-kubeconfig"},
        "infrastructureRef": {
            "apiGroup": INFRASTRUCTURE.split("/", maxsplit=1)[0],
            "kind": "AROMachinePool",
            "name": own,
        },
    }
    spec = {"clusterName": wish.name, "replicas": wish.replicas, "template": {"spec": template}}
    return [
        _object(CAPI, "MachinePool", own, spec, namespace),
        _object(INFRASTRUCTURE, "AROMachinePool", own, {"resources": [node_pool(wish, name)]}, namespace),
    ]


def _object(api: str, kind: str, name: str, spec: Json, namespace: str) -> Json:
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
