"""The kinds that a hosted webhook touches, with what a client needs to address them."""

from __future__ import annotations

from typing import Any, Final

from vestibule.core.kinds import gvk
from vestibule.core.kinds.gvk import Kind
from vestibule.core.native import kinds

_CONTROL_PLANE: Final = "controlplane.cluster.x-k8s.io"
CONTROL_PLANES: Final[dict[str, Kind]] = {
    "hypershift": Kind("hypershift.openshift.io", "v1beta1", "HostedControlPlane", "hostedcontrolplanes"),
    "kamaji": Kind("kamaji.clastix.io", "v1alpha1", "TenantControlPlane", "tenantcontrolplanes"),
    "k0smotron": Kind("k0smotron.io", "v1beta2", "Cluster", "clusters"),
    "clusterapi": Kind("cluster.x-k8s.io", "v1beta1", "Cluster", "clusters"),
    "vcluster": gvk.STATEFUL_SET,
    "kubeconfig": kinds.SECRET,
}
"""The object of a control plane, by flavour."""
OWNERS: Final = (
    Kind(_CONTROL_PLANE, "v1alpha1", "KamajiControlPlane", "kamajicontrolplanes"),
    Kind(_CONTROL_PLANE, "v1beta1", "KubeadmControlPlane", "kubeadmcontrolplanes"),
)
LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases")
_MORE: Final = {
    (kind.api_version, kind.kind): kind for kind in (gvk.NAMESPACE, LEASE, *CONTROL_PLANES.values(), *OWNERS)
}


def of(thing: dict[str, Any]) -> Kind:
    """The kind of an object; raises KeyError for one that we have nothing to do with."""
    return _MORE.get((thing["apiVersion"], thing["kind"])) or kinds.of(thing)
