"""HyperShift: a HostedControlPlane in a namespace of its own, its parts owned by its control plane operator.

The webhook is built in on Azure and AWS. Elsewhere a Deployment of ours stands beside the API server; its
Service must carry a label, or HyperShift deletes registrations that point at it.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, Final

from vestibule.operator.controllers.hosted import paused, sidecar
from vestibule.operator.controllers.hosted.attach_modes import ALLOW_LABEL
from vestibule.operator.controllers.hosted.control_plane import ControlPlane, KubeconfigSecret
from vestibule.operator.controllers.hosted.platforms import closed

Object = dict[str, Any]
NAME: Final = "hypershift"
KINDS: Final = (("hypershift.openshift.io", "HostedControlPlane"),)
HOSTED: Final = "hypershift.openshift.io/hosted-control-plane"
_KUBECONFIG: Final = "service-network-admin-kubeconfig"
_IBM_PORT: Final = 2040


def target(thing: Object, beside: Sequence[Object], now: datetime.datetime) -> ControlPlane:
    """A HostedControlPlane."""
    del beside
    namespace = str(thing["metadata"].get("namespace", "default"))
    spec = thing.get("spec") or {}
    external = (thing.get("status") or {}).get("kubeConfig") or {}
    return ControlPlane(
        NAME,
        thing,
        kubeconfig=KubeconfigSecret(_KUBECONFIG, ("kubeconfig",)),
        ca=KubeconfigSecret("root-ca", ("ca.crt",)),
        ways=("builtin", "deployment", "in-guest"),
        external=KubeconfigSecret(
            external.get("name", "admin-kubeconfig"), (external.get("key", "kubeconfig"),)
        ),
        signer=KubeconfigSecret("cluster-signer-ca", ("ca.crt", "ca.key")),
        server=service_url(thing),
        port=sidecar.api_port(thing),
        pause=paused.until(spec.get("pausedUntil"), now),
        workload="Deployment kube-apiserver",
        service_labels={ALLOW_LABEL: "true"},
        pod_labels={HOSTED: namespace},
    )


def service_url(thing: Object) -> str:
    """The API server's Service, from inside its namespace."""
    platform = ((thing.get("spec") or {}).get("platform") or {}).get("type")
    return f"https://kube-apiserver:{_IBM_PORT if platform == 'IBMCloud' else 6443}"


def local_url(thing: Object) -> str:
    """The API server, from inside its own pod."""
    return f"https://localhost:{sidecar.api_port(thing)}"


# there is no field for it, and what is patched in vanishes with the operator's next change
holder, attached, detached = closed.holder, closed.attached, closed.detached
