"""The kinds that a hosted webhook touches, with what a client needs to address them."""

from __future__ import annotations

from typing import Any, Final

from vestibule.api import control_planes, gvk
from vestibule.api.gvk import Kind
from vestibule.manifests import kinds

CONTROL_PLANES: Final[dict[str, Kind]] = {
    "hypershift": control_planes.HYPERSHIFT,
    "kamaji": control_planes.KAMAJI,
    "k0smotron": control_planes.K0SMOTRON,
    "clusterapi": control_planes.CLUSTER_API,
    "vcluster": control_planes.VCLUSTER,
    "kubeconfig": kinds.SECRET,
}
"""The object of a control plane, by flavour."""
OWNERS: Final[dict[str, Kind]] = {
    kind.kind: kind for kind in (control_planes.KAMAJI_OWNER, control_planes.KUBEADM)
}
"""Objects that hold one, by their kind."""
LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases")
_MORE: Final = {
    (kind.api_version, kind.kind): kind
    for kind in (gvk.NAMESPACE, LEASE, *CONTROL_PLANES.values(), *OWNERS.values())
}


def of(thing: dict[str, Any]) -> Kind:
    """The kind of an object; raises KeyError for one that we have nothing to do with."""
    return _MORE.get((thing["apiVersion"], thing["kind"])) or kinds.of(thing)
