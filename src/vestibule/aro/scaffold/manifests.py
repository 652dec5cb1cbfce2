"""A complete, current set of manifests for one cluster from a few answers: networks, vault and identities
(``infrastructure``), cluster, pool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from vestibule import errors
from vestibule.aro import names
from vestibule.aro.embedded import Object
from vestibule.aro.scaffold import infrastructure
from vestibule.aro.scaffold.answers import ScaffoldAnswers, identity, named, resource, vault

VERSION: Final = "v1api20260630preview"
_GUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,13}[a-z0-9])?")
__all__ = ["ScaffoldAnswers", "manifests", "problems"]


def problems(answers: ScaffoldAnswers) -> list[errors.InputProblem]:
    """What is wrong with the answers."""
    found = []

    def wrong(option: str, text: str) -> None:
        found.append(errors.InputProblem(option, "", text))

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


def manifests(answers: ScaffoldAnswers) -> list[Object]:
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
            {"resources": list(infrastructure.infrastructure(a))},
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
    api_version: str,
    kind: str,
    a: ScaffoldAnswers,
    name: str,
    spec: Object,
    labels: dict[str, str] | None = None,
) -> Object:
    meta: Object = {"name": name, "namespace": a.namespace}
    if labels:
        meta["labels"] = dict(labels)
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec}


def _ref(group: str, kind: str, name: str) -> Object:
    return {"apiGroup": group, "kind": kind, "name": name}


def _control_plane(a: ScaffoldAnswers) -> Iterator[Object]:
    def network(kind: str, suffix: str) -> Object:
        return {"group": "network.azure.com", "kind": kind, "name": named(a, suffix)}

    active: Object = {"name": names.DEFAULT_KEY}
    if a.key_version:
        active["version"] = a.key_version
    own = [*(f"cp-{one}" for one in infrastructure.CONTROL_PLANE), infrastructure.SERVICE]
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
            "managedResourceGroup": named(a, "managed"),
            "outboundType": "LoadBalancer",
            "subnetReference": network("VirtualNetworksSubnet", "subnet"),
            "vnetIntegrationSubnetReference": network("VirtualNetworksSubnet", "integration"),
            "networkSecurityGroupReference": network("NetworkSecurityGroup", "nsg"),
            "operatorsAuthentication": {
                "userAssignedIdentities": {
                    "controlPlaneOperatorsReferences": {
                        one: identity(a, f"cp-{one}") for one in infrastructure.CONTROL_PLANE
                    },
                    "dataPlaneOperatorsReferences": {
                        one: identity(a, f"dp-{one}") for one in infrastructure.DATA_PLANE
                    },
                    "serviceManagedIdentityReference": identity(a, infrastructure.SERVICE),
                }
            },
        },
    }
    yield resource(
        a,
        f"{names.OPENSHIFT}/{VERSION}",
        names.HCP,
        a.name,
        {
            "azureName": a.name,
            "location": a.location,
            "owner": {"name": named(a, "rg")},
            "identity": {
                "type": "UserAssigned",
                "userAssignedIdentities": [{"reference": identity(a, one)} for one in own],
            },
            "properties": properties,
        },
    )
    if a.issuer:
        yield resource(
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


def _pool(a: ScaffoldAnswers, label: dict[str, str]) -> Iterator[Object]:
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
    pool = resource(
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
                        "name": named(a, "subnet"),
                    },
                    "osDisk": {"sizeGiB": 128, "diskStorageAccountType": "Premium_LRS"},
                },
                "autoRepair": True,
            },
        },
    )
    yield _object(names.ARO_MACHINE_POOL.api_version, "AROMachinePool", a, name, {"resources": [pool]}, label)
