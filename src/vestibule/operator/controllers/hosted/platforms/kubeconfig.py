"""Any cluster that a kubeconfig reaches: its control plane is out of reach, so the webhook runs inside."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, Final

from vestibule.operator.controllers.hosted.control_plane import ControlPlane, KubeconfigSecret
from vestibule.operator.controllers.hosted.platforms import closed

Object = dict[str, Any]
NAME: Final = "kubeconfig"
KINDS: Final = (("", "Secret"),)
_KEYS: Final = ("kubeconfig", "value", "config")


def target(thing: Object, beside: Sequence[Object], now: datetime.datetime) -> ControlPlane:
    """A Secret with a kubeconfig under one of the usual keys."""
    del beside, now
    data = {**(thing.get("data") or {}), **(thing.get("stringData") or {})}
    keys = tuple(key for key in _KEYS if key in data) or _KEYS
    name = str(thing["metadata"]["name"])
    return ControlPlane(
        NAME,
        thing,
        kubeconfig=KubeconfigSecret(name, keys),
        ca=KubeconfigSecret(name, ("ca.crt",)),
        ways=("in-guest",),
    )


# nothing beside its API server is in our reach
holder, attached, detached = closed.holder, closed.attached, closed.detached
