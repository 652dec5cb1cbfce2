"""A second API server on the etcd of a first: a hosted cluster and the cluster that hosts it.

The two share nothing but etcd's process: own prefix, authority, token key, issuer, port. A token of one is
nobody at the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.rig import catalogue
from tests.rig.controlplane import ControlPlane


class Pair(NamedTuple):
    """Two control planes on one etcd."""

    management: ControlPlane
    guest: ControlPlane

    def stop(self) -> None:
        """The guest first: its data lies in the management's etcd."""
        self.guest.stop()
        self.management.stop()


def hosted_cluster_of(management: ControlPlane, folder: Path, *, controllers: bool = False) -> ControlPlane:
    """A guest, not started; the management's etcd must run before it does."""
    return ControlPlane(
        folder,
        version=management.version,
        prefix="/guest",
        etcd=management.etcd,
        controllers=controllers,
    )


def management_and_hosted(folder: Path, *, version: str = catalogue.NEW, controllers: bool = False) -> Pair:
    """Boots both at the same time; ``controllers`` is for the guest, the management always has them.

    On failure everything is stopped and Failed raised.
    """
    management = ControlPlane(folder / "management", version=version, prefix="/management")
    pair = Pair(management, hosted_cluster_of(management, folder / "guest", controllers=controllers))
    try:
        pair.management.launch()
        pair.guest.launch()
        pair.management.wait()
        pair.guest.wait()
    except BaseException:
        pair.stop()
        raise
    return pair
