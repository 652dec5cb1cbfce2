"""The kinds that a hosted webhook touches, with what a client needs to address them."""

from __future__ import annotations

from typing import Any, Final

from vestibule.core.kinds import controlplanes, gvk
from vestibule.core.kinds.gvk import Kind
from vestibule.core.native import kinds

CONTROL_PLANES: Final[dict[str, Kind]] = {
    "hypershift": controlplanes.HYPERSHIFT,
    "kamaji": controlplanes.KAMAJI,
    "k0smotron": controlplanes.K0SMOTRON,
    "clusterapi": controlplanes.CLUSTER_API,
    "vcluster": controlplanes.VCLUSTER,
    "kubeconfig": kinds.SECRET,
}
"""The object of a control plane, by flavour."""
OWNERS: Final[dict[str, Kind]] = {
    kind.kind: kind for kind in (controlplanes.KAMAJI_OWNER, controlplanes.KUBEADM)
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
