"""Kinds, annotations, finalizers, condition types and reasons of ARO HCP clusters.

All of them are interface: Cluster API, Azure Service Operator, clusterctl and people read them.
"""

from __future__ import annotations

from typing import Final

from vestibule.api.gvk import Kind

INFRASTRUCTURE: Final = "infrastructure.cluster.x-k8s.io"
CONTROL_PLANE: Final = "controlplane.cluster.x-k8s.io"
CLUSTER_API: Final = "cluster.x-k8s.io"
OPENSHIFT: Final = "redhatopenshift.azure.com"
"""The group of the HCP kinds of Azure Service Operator; any served version of it is understood."""

ARO_CLUSTER: Final = Kind(INFRASTRUCTURE, "v1beta2", "AROCluster", "aroclusters")
ARO_CONTROL_PLANE: Final = Kind(CONTROL_PLANE, "v1beta2", "AROControlPlane", "arocontrolplanes")
ARO_MACHINE_POOL: Final = Kind(INFRASTRUCTURE, "v1beta2", "AROMachinePool", "aromachinepools")
IDENTITY: Final = Kind(INFRASTRUCTURE, "v1beta1", "AzureClusterIdentity", "azureclusteridentities")
CLUSTER: Final = Kind(CLUSTER_API, "v1beta2", "Cluster", "clusters")
MACHINE_POOL: Final = Kind(CLUSTER_API, "v1beta2", "MachinePool", "machinepools")

HCP: Final = "HcpOpenShiftCluster"
NODE_POOL: Final = "HcpOpenShiftClustersNodePool"
EXTERNAL_AUTH: Final = "HcpOpenShiftClustersExternalAuth"
VAULT: Final = "Vault"
"""Of keyvault.azure.com."""
VAULT_GROUP: Final = "keyvault.azure.com"

MANAGER: Final = "capz-manager"
"""The field manager, the one of the controllers that we take the place of: what they applied is ours."""

# ── finalizers, annotations, labels ─────────────────────────────────────────────────────────────────────────
FINALIZERS: Final = {
    "AROCluster": "arocluster/finalizer",
    "AROControlPlane": "arocontrolplanes/finalizer",
    "AROMachinePool": "aromachinepool/finalizer",
}
ASO_FINALIZER: Final = "serviceoperator.azure.com/finalizer"
OWNED_KINDS: Final = "sigs.k8s.io/cluster-api-provider-azure-owned-aso-kinds"
"""``Kind.version.group`` joined by ``;``: kinds that may have been created, written before they are."""
BLOCK_MOVE: Final = "clusterctl.cluster.x-k8s.io/block-move"
DELETE_FOR_MOVE: Final = "clusterctl.cluster.x-k8s.io/delete-for-move"
PAUSED: Final = "cluster.x-k8s.io/paused"
MANAGED_BY: Final = "cluster.x-k8s.io/managed-by"
WATCH_FILTER: Final = "cluster.x-k8s.io/watch-filter"
CLUSTER_NAME: Final = "cluster.x-k8s.io/cluster-name"
REPLICAS_MANAGED_BY: Final = "cluster.x-k8s.io/replicas-managed-by"
REPLICA_MANAGER: Final = "aro-hcp"
RECONCILE_POLICY: Final = "serviceoperator.azure.com/reconcile-policy"
SKIP: Final = "skip"
PREVIOUS_POLICY: Final = "vestibule.dev/reconcile-policy-before-pause"
"""What stood there before the pause; empty: nothing."""
RECORDS: Final = "vestibule.dev/"
"""Annotations of ours begin with it."""
CREATED_FOR: Final = "vestibule.dev/created-for"
"""On an embedded object: uid of the ARO object for which we applied it."""
DELETE_WITHOUT_CLUSTER: Final = "vestibule.dev/delete-without-cluster"
"""On an ARO object, ``true``: its deletion is wanted although its Cluster is not there."""
ADOPT: Final = "vestibule.dev/adopt"
"""On an embedded resource, ``true``: take over a live object of this name that nobody owns."""
CREDENTIAL_FROM: Final = "serviceoperator.azure.com/credential-from"
NODE_POOL_LABEL: Final = "hypershift.openshift.io/nodePool"
SECRET_TYPE: Final = "cluster.x-k8s.io/secret"
KUBECONFIG_UPDATED: Final = "aro.azure.com/kubeconfig-last-updated"
KUBECONFIG_REFRESH: Final = "aro.azure.com/kubeconfig-refresh-needed"
KUBECONFIG_ASKED: Final = "vestibule.dev/kubeconfig-renewal-asked"
"""On an HcpOpenShiftCluster: the end of the kubeconfig for which a new one was asked."""
TOKEN_EXPIRES: Final = "aro.azure.com/token-expires-at"
DEFAULT_KEY: Final = "etcd-data-kms-encryption-key"

# ── conditions ──────────────────────────────────────────────────────────────────────────────────────────────
READY: Final = "Ready"
AVAILABLE: Final = "Available"
PAUSED_CONDITION: Final = "Paused"
DELETING: Final = "Deleting"
RESOURCES_READY: Final = "ResourcesReady"
NETWORK_READY: Final = "NetworkInfrastructureReady"
KEY_READY: Final = "EncryptionKeyReady"
HCP_READY: Final = "HcpClusterReady"
AUTH_READY: Final = "ExternalAuthReady"
NODES_READ: Final = "NodesRead"
KUBECONFIG_READY: Final = "KubeconfigReady"
NODE_POOL_READY: Final = "NodePoolReady"
MACHINE_POOL_READY: Final = "AROMachinePoolReady"
AGENT_POOLS_READY: Final = "AgentPoolsReady"
INCOMPATIBLE: Final = "IncompatibleValue"
REFUSED: Final = "Refused"
"""Of an embedded resource that may not be used."""
NOT_APPLIED: Final = "NotApplied"
"""Of an embedded resource that stands in the way of somebody else's object."""
APPLY_FAILED: Final = "ApplyFailed"
"""A write failed; it is tried again."""
OWNER_MISSING: Final = "OwnerMissing"
