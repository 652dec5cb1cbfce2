"""vcluster: a virtual control plane in a StatefulSet, known by the Secret with its kubeconfig."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, Final

from vestibule.operator.controllers.hosted.control_plane import ControlPlane, KubeconfigSecret
from vestibule.operator.controllers.hosted.platforms import closed

Object = dict[str, Any]
NAME: Final = "vcluster"
KINDS: Final = (("apps", "StatefulSet"),)
"""There is no kind of its own; the StatefulSet (or Deployment) has the label ``app: vcluster``."""


def target(thing: Object, beside: Sequence[Object], now: datetime.datetime) -> ControlPlane:
    """The workload of a vcluster, or anything with its name."""
    del beside, now
    labels = thing["metadata"].get("labels") or {}
    name = str(labels.get("release") or thing["metadata"]["name"])
    namespace = str(thing["metadata"].get("namespace", "default"))
    return ControlPlane(
        NAME,
        thing,
        kubeconfig=KubeconfigSecret(f"vc-{name}", ("config",)),
        ca=KubeconfigSecret(f"vc-{name}", ("certificate-authority",)),
        signer=KubeconfigSecret(f"{name}-certs", ("ca.crt", "ca.key")),
        ways=("deployment", "in-guest"),
        # the stored address is often that of a port-forward
        server=f"https://{name}.{namespace}.svc:443",
        port=8443,
        workload=f"{thing.get('kind', 'StatefulSet')} {name}",
        notes=("the cloud must reach the issuer of the vcluster's own tokens",),
    )


# its chart owns the pod; there is no field for it
holder, attached, detached = closed.holder, closed.attached, closed.detached
