"""Kamaji: a TenantControlPlane, or the KamajiControlPlane of Cluster API that owns one.

A sidecar goes through the lists that are meant for it. They have no keys in the schema, so the whole object
is read, changed and written back; where a KamajiControlPlane owns the TenantControlPlane it goes there, under
that kind's own field names, or it would be overwritten.
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Sequence
from typing import Any, Final

from vestibule.operator.controllers.hosted import paused
from vestibule.operator.controllers.hosted.control_plane import (
    API_PORT,
    ControlPlane,
    ForeignEdit,
    KubeconfigSecret,
)

Object = dict[str, Any]
NAME: Final = "kamaji"
TENANT: Final = "TenantControlPlane"
OWNER: Final = "KamajiControlPlane"
KINDS: Final = (("kamaji.clastix.io", TENANT), ("controlplane.cluster.x-k8s.io", OWNER))
_FIELDS: Final = {
    TENANT: ("spec.controlPlane.deployment", "additionalContainers", "additionalVolumes"),
    OWNER: ("spec.deployment", "extraContainers", "extraVolumes"),
}


def target(thing: Object, beside: Sequence[Object], now: datetime.datetime) -> ControlPlane:
    """A TenantControlPlane; parts are named after it, and a KamajiControlPlane's has the same name."""
    del now
    name = str(thing["metadata"]["name"])
    namespace = str(thing["metadata"].get("namespace", "default"))
    port = ((thing.get("spec") or {}).get("networkProfile") or {}).get("port") or API_PORT
    return ControlPlane(
        NAME,
        thing,
        kubeconfig=KubeconfigSecret(
            f"{name}-admin-kubeconfig", ("super-admin.svc", "admin.svc", "super-admin.conf", "admin.conf")
        ),
        ca=KubeconfigSecret(f"{name}-ca", ("ca.crt", "ca.key", "tls.crt", "tls.key")),
        signer=KubeconfigSecret(f"{name}-ca", ("ca.crt", "ca.key")),
        ways=("deployment", "sidecar", "in-guest"),
        server=f"https://{name}.{namespace}.svc:{port}",
        port=port,
        pause=paused.cluster_api(thing, *beside),
        workload=f"Deployment {name}",
    )


def owner_of(thing: Object) -> str:
    """Name of the KamajiControlPlane that owns a TenantControlPlane; empty when none does."""
    references = thing["metadata"].get("ownerReferences") or ()
    return next((str(one["name"]) for one in references if one.get("kind") == OWNER), "")


def holder(thing: Object) -> tuple[str, str] | None:
    """The KamajiControlPlane that owns a TenantControlPlane, if one does."""
    name = owner_of(thing)
    return (OWNER, name) if thing["kind"] == TENANT and name else None


def attached(owner: Object, container: Object, volumes: Sequence[Object]) -> ForeignEdit | None:
    """Our container in a TenantControlPlane that nobody owns, or in a KamajiControlPlane; else None."""
    if owner["kind"] == TENANT and owner_of(owner):
        return None
    path, containers, mounts = _FIELDS[owner["kind"]]
    made = copy.deepcopy(owner)
    place = made
    for step in path.split("."):
        if place.get(step) is None:
            place[step] = {}
        place = place[step]
    place[containers] = _with(place.get(containers) or [], [container])
    place[mounts] = _with(place.get(mounts) or [], volumes)
    entries = [f"{path}.{containers}[name={container['name']}]"]
    entries += [f"{path}.{mounts}[name={volume['name']}]" for volume in volumes]
    return ForeignEdit(made, tuple(entries), made != owner)


def _with(there: Sequence[Object], ours: Sequence[Object]) -> list[Object]:
    """Ours in their old places, new ones at the end; everybody else's as they are."""
    wanted = {one["name"]: one for one in ours}
    kept = [_kept(one, wanted.pop(one["name"])) if one["name"] in wanted else one for one in there]
    return [*kept, *(copy.deepcopy(one) for one in wanted.values())]


def _kept(live: Object, wanted: Object) -> Object:
    """The live entry while it says all that is wanted: what the API server added is no difference."""
    return live if all(live.get(key) == value for key, value in wanted.items()) else copy.deepcopy(wanted)


def detached(owner: Object, name: str) -> ForeignEdit | None:
    """Without our entries; lists that were ours alone go with them."""
    path, containers, mounts = _FIELDS[owner["kind"]]
    made = copy.deepcopy(owner)
    place = made
    for step in path.split("."):
        place = place.get(step) or {}
    ours = {containers: {name}, mounts: {f"{name}-certs", f"{name}-kubeconfig"}}
    for field, names in ours.items():
        if place.get(field):
            place[field] = [one for one in place[field] if one["name"] not in names]
            if not place[field]:
                del place[field]
    return ForeignEdit(made, (), made != owner)
