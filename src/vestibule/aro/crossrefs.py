"""The objects of one cluster, found in manifests by what they refer to, and what is wrong between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from vestibule.api.aso import STANDARD, PermittedKinds
from vestibule.aro import embedded, identities, keys, lifecycle, names
from vestibule.aro.embedded import Object

ARO: Final = ("AROCluster", "AROControlPlane", "AROMachinePool")


class NodePool(NamedTuple):
    """A node pool and its MachinePool."""

    aro: Object
    machine_pool: Object | None


class ClusterManifests(NamedTuple):
    """One cluster."""

    cluster: Object
    infrastructure: Object | None
    control_plane: Object | None
    pools: tuple[NodePool, ...]
    permitted: PermittedKinds = STANDARD
    """The kinds that may be embedded."""

    def resources(self, owner: Object) -> list[Object]:
        """The embedded resources of one of its objects that are used."""
        return embedded.resources(owner, self.permitted)

    @property
    def name(self) -> str:
        """Of the Cluster."""
        return str(self.cluster["metadata"]["name"])

    @property
    def hcp(self) -> Object | None:
        """The cluster as the control plane carries it."""
        if self.control_plane is None:
            return None
        found = embedded.every(self.resources(self.control_plane), names.HCP)
        return found[0] if found else None


class Mismatch(NamedTuple):
    """Two objects that do not fit each other."""

    object: Object
    path: str
    text: str
    error: bool = True


def families(objects: Iterable[Object], permitted: PermittedKinds = STANDARD) -> list[ClusterManifests]:
    """Every Cluster of ARO kinds with what belongs to it; without a Cluster, what is there by its label."""
    listed = list(objects)
    clusters = [one for one in listed if _is(one, names.CLUSTER_API, "Cluster")]
    found = [_family(one, listed, permitted) for one in clusters if _of_aro(one)]
    named = {(family.name, lifecycle.namespace(family.cluster)) for family in found}
    for one in listed:
        if one.get("kind") not in ARO:
            continue
        name = lifecycle.labels_of(one).get(names.CLUSTER_NAME) or str(one["metadata"]["name"])
        key = (name, lifecycle.namespace(one))
        if key not in named and one["kind"] != "AROMachinePool":
            named.add(key)
            found.append(_family(_stand_in(*key), listed, permitted))
    return found


def _stand_in(name: str, namespace: str) -> Object:
    """A Cluster that nobody wrote, with the references that everybody writes."""
    return {
        "apiVersion": names.CLUSTER.api_version,
        "kind": "Cluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "infrastructureRef": {"apiGroup": names.INFRASTRUCTURE, "kind": "AROCluster", "name": name},
            "controlPlaneRef": {"apiGroup": names.CONTROL_PLANE, "kind": "AROControlPlane", "name": name},
        },
    }


def _of_aro(cluster: Object) -> bool:
    return lifecycle.refers_to(
        embedded.value(cluster, "spec.infrastructureRef"), "AROCluster", names.INFRASTRUCTURE
    ) or lifecycle.refers_to(
        embedded.value(cluster, "spec.controlPlaneRef"), "AROControlPlane", names.CONTROL_PLANE
    )


def _family(cluster: Object, objects: list[Object], permitted: PermittedKinds) -> ClusterManifests:
    where = lifecycle.namespace(cluster)

    def referred(field: str, kind: str) -> Object | None:
        name = embedded.value(cluster, f"spec.{field}.name")
        return next(
            (
                one
                for one in objects
                if one.get("kind") == kind
                and one["metadata"].get("name") == name
                and lifecycle.namespace(one) == where
            ),
            None,
        )

    name = cluster["metadata"]["name"]
    machines = {
        embedded.value(one, "spec.template.spec.infrastructureRef.name"): one
        for one in objects
        if _is(one, names.CLUSTER_API, "MachinePool")
        and embedded.value(one, "spec.clusterName") == name
        and lifecycle.namespace(one) == where
    }
    pools = tuple(
        NodePool(one, machines.get(one["metadata"]["name"]))
        for one in objects
        if one.get("kind") == "AROMachinePool"
        and lifecycle.namespace(one) == where
        and (one["metadata"]["name"] in machines or lifecycle.labels_of(one).get(names.CLUSTER_NAME) == name)
    )
    return ClusterManifests(
        cluster,
        referred("infrastructureRef", "AROCluster"),
        referred("controlPlaneRef", "AROControlPlane"),
        pools,
        permitted,
    )


def mismatches(family: ClusterManifests, objects: Iterable[Object]) -> Iterator[Mismatch]:
    """What does not fit between the objects of a cluster."""
    cluster = family.cluster
    if family.infrastructure is None:
        yield Mismatch(cluster, "spec.infrastructureRef", "names an AROCluster that is not in these files")
    if family.control_plane is None:
        yield Mismatch(cluster, "spec.controlPlaneRef", "names an AROControlPlane that is not in these files")
    if not family.pools:
        yield Mismatch(cluster, "", "has no AROMachinePool: Azure wants at least one node pool", error=False)
    yield from _vault(family)
    yield from _identity(family, list(objects))
    for pool in family.pools:
        yield from _pool(family, pool)


def _vault(family: ClusterManifests) -> Iterator[Mismatch]:
    hcp, plane = family.hcp, family.control_plane
    said = keys.wish(hcp) if hcp is not None else None
    if said is None or plane is None or identities.reference(plane) is None:
        return
    vaults = [
        embedded.azure_name(one)
        for one in family.resources(family.infrastructure or {})
        if embedded.of(one).group == names.VAULT_GROUP
    ]
    if said.vault not in vaults:
        text = f"names vault {said.vault!r}; the AROCluster declares {', '.join(vaults) or 'none'}"
        yield Mismatch(plane, _inside(plane, hcp, f"{keys.KMS}.vaultName"), text)


def _inside(owner: Object, resource: Object | None, path: str) -> str:
    """The path of a value of an embedded resource, in the object that carries it."""
    listed = (owner.get("spec") or {}).get("resources") or []
    return next(
        (f"spec.resources[{number}].{path}" for number, one in enumerate(listed) if one == resource), path
    )


def _identity(family: ClusterManifests, objects: list[Object]) -> Iterator[Mismatch]:
    plane = family.control_plane
    ref = identities.reference(plane) if plane is not None else None
    if plane is None or ref is None or not ref.name:
        return
    if not any(
        one.get("kind") == "AzureClusterIdentity" and one["metadata"].get("name") == ref.name
        for one in objects
    ):
        yield Mismatch(plane, "spec.identityRef", f"{ref} is not in these files", error=False)


def _pool(family: ClusterManifests, pool: NodePool) -> Iterator[Mismatch]:
    if pool.machine_pool is None:
        text = "has no MachinePool whose template names it: it stays as it is"
        yield Mismatch(pool.aro, "", text)
    hcp = family.hcp
    for one in embedded.every(family.resources(pool.aro), names.NODE_POOL):
        owner = embedded.value(one, "spec.owner.name")
        if hcp is not None and owner is not None and owner != hcp["metadata"]["name"]:
            text = f"is {owner!r}, want {hcp['metadata']['name']!r}, the HcpOpenShiftCluster"
            yield Mismatch(pool.aro, _inside(pool.aro, one, "spec.owner.name"), text)
        yield from _versions(hcp, pool.aro, one)


def _versions(hcp: Object | None, owner: Object, one: Object) -> Iterator[Mismatch]:
    path = "spec.properties.version.id"
    above, below = _version(embedded.value(hcp, path)), _version(embedded.value(one, path))
    if above is None or below is None:
        return
    if below > above:
        text = f"is {embedded.value(one, path)!r}, newer than the cluster's {embedded.value(hcp, path)!r}"
        yield Mismatch(owner, _inside(owner, one, path), text)
    elif above[0] != below[0] or above[1] - below[1] > 2:
        text = f"is {embedded.value(one, path)!r}, more than two minor versions behind the cluster"
        yield Mismatch(owner, _inside(owner, one, path), text)


def _version(text: Any) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", str(text or ""))
    return (int(found[1]), int(found[2])) if found else None


def _is(one: Object, group: str, kind: str) -> bool:
    what = embedded.of(one)
    return (what.group, what.kind) == (group, kind)
