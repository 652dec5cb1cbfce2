"""The kinds of hosted control planes, and of what holds them, with what a client needs to address them."""

from __future__ import annotations

from typing import Final

from vestibule.api import gvk
from vestibule.api.gvk import Kind

_CONTROL_PLANE: Final = "controlplane.cluster.x-k8s.io"
HYPERSHIFT: Final = Kind("hypershift.openshift.io", "v1beta1", "HostedControlPlane", "hostedcontrolplanes")
KAMAJI: Final = Kind("kamaji.clastix.io", "v1alpha1", "TenantControlPlane", "tenantcontrolplanes")
K0SMOTRON: Final = Kind("k0smotron.io", "v1beta2", "Cluster", "clusters")
CLUSTER_API: Final = Kind("cluster.x-k8s.io", "v1beta1", "Cluster", "clusters")
VCLUSTER: Final = gvk.STATEFUL_SET
KAMAJI_OWNER: Final = Kind(_CONTROL_PLANE, "v1alpha1", "KamajiControlPlane", "kamajicontrolplanes")
KUBEADM: Final = Kind(_CONTROL_PLANE, "v1beta1", "KubeadmControlPlane", "kubeadmcontrolplanes")
READ: Final = (HYPERSHIFT, CLUSTER_API, VCLUSTER)
"""Those that we only read."""
WRITTEN: Final = (KAMAJI, K0SMOTRON, KAMAJI_OWNER, KUBEADM)
"""Those that have fields for containers of others."""
