"""A control plane as all flavours describe it: where things live, what is allowed, whether to keep off."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from vestibule.operator.controllers.hosted.hypershift_webhooks import OURS
from vestibule.operator.controllers.hosted.paused import RUNNING, PauseState

Object = dict[str, Any]
Way = Literal["builtin", "deployment", "sidecar", "static-pod", "in-guest"]
"""How the webhook stands beside the API server."""
API_PORT: Final = 6443
_LONGEST: Final = 63
"""Characters of a Service's name."""


class KubeconfigSecret(NamedTuple):
    """A Secret beside the control plane, and the keys under which to look, the best first."""

    secret: str
    keys: tuple[str, ...]


class ForeignEdit(NamedTuple):
    """A change to an object that somebody else owns, through fields that are meant for it.

    The lists have no keys in their schema, so whoever applies one owns all of it: read, change, and write
    with the resourceVersion that was read.
    """

    thing: Object
    """The whole object, with our entries in it and everybody else's untouched."""
    entries: tuple[str, ...]
    """Paths of our entries."""
    changed: bool
    """False: there is nothing to write."""


class ControlPlane(NamedTuple):
    """One control plane."""

    flavour: str
    thing: Object
    kubeconfig: KubeconfigSecret
    ca: KubeconfigSecret
    ways: tuple[Way, ...]
    """What is possible, in the order of preference; the first is chosen when nobody says."""
    external: KubeconfigSecret | None = None
    """A kubeconfig with an address from outside."""
    signer: KubeconfigSecret | None = None
    """Who signs client certificates."""
    server: str = ""
    """Address of the API server inside the management cluster, where the stored one may be of no use."""
    port: int = API_PORT
    """Where the API server listens in its pod."""
    pause: PauseState = RUNNING
    workload: str = ""
    """Kind and name of what runs the API server."""
    service_labels: Mapping[str, str] = {}
    """What a Service needs so that its flavour tolerates webhooks to it."""
    pod_labels: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    """What a person should know about this flavour."""

    @property
    def name(self) -> str:
        """Of the control plane."""
        return str(self.thing["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Where its parts live in the management cluster."""
        return str(self.thing["metadata"].get("namespace", "default"))

    @property
    def own(self) -> str:
        """What our objects beside it are called. HyperShift gives each control plane a namespace; others'
        share one, and theirs are told apart by its name."""
        if self.flavour == "hypershift":
            return OURS
        name = self.name.replace(".", "-")
        if len(name) > (room := _LONGEST - len(OURS) - 1):
            name = f"{name[: room - 9]}-{hashlib.sha256(self.name.encode()).hexdigest()[:8]}"
        return f"{OURS}-{name}"

    def secret(self, what: Literal["ca", "serving-cert", "kubeconfig"]) -> str:
        """Name of a Secret of ours beside it."""
        return f"{self.own}-{what}"

    @property
    def deleting(self) -> bool:
        """Whether it is on its way out."""
        return bool(self.thing["metadata"].get("deletionTimestamp"))

    def __str__(self) -> str:
        return f"{self.thing['kind']} {self.namespace}/{self.name}"
