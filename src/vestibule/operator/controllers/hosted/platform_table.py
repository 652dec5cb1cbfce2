"""The flavours of control planes that we know, by name and by the kinds they bring."""

from __future__ import annotations

from typing import Any, Final

from vestibule.operator.controllers.hosted.platforms import (
    clusterapi,
    hypershift,
    k0smotron,
    kamaji,
    kubeconfig,
    vcluster,
)
from vestibule.operator.controllers.hosted.platforms.base import Platform

ALL: Final[dict[str, Platform]] = {
    flavour.NAME: flavour for flavour in (hypershift, kamaji, k0smotron, clusterapi, vcluster, kubeconfig)
}
GUESSED: Final = ("hypershift", "kamaji", "k0smotron", "clusterapi")
"""Those with kinds of their own; a StatefulSet or a Secret can be anything."""


def matches(flavour: Platform, thing: dict[str, Any]) -> bool:
    """Whether an object is one of a flavour's control planes."""
    group = str(thing.get("apiVersion", "")).rpartition("/")[0]
    return (group, str(thing.get("kind", ""))) in flavour.KINDS


def of(thing: dict[str, Any]) -> Platform | None:
    """The flavour that an object's kind tells; None when it tells none."""
    return next((ALL[name] for name in GUESSED if matches(ALL[name], thing)), None)
