"""What would be made of manifests, in which order, and with what besides what the user wrote; and what the
removal of a resource would take with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vestibule.aro import controlplane, embedded, graph, identities, keys, kubeconfigs, machinepool, names
from vestibule.aro.crossrefs import ClusterManifests
from vestibule.aro.embedded import Object
from vestibule.aro.manifest_reader import FROM_VAULT


class AddedValue(NamedTuple):
    """A value that the user did not write."""

    path: str
    value: Any


class PlanStep(NamedTuple):
    """One thing that happens."""

    phase: str
    what: str
    """``Kind/name``, or what is waited for."""
    owner: str = ""
    """The ARO object that carries it."""
    waits: tuple[str, ...] = ()
    added: tuple[AddedValue, ...] = ()


def steps(family: ClusterManifests) -> list[PlanStep]:
    """In the order of creation. Raises IncompatibleValue as the controllers would."""
    return [
        *_infrastructure(family),
        *_key(family),
        *_cluster(family),
        *_pools(family),
        *_late(family),
        PlanStep("provisioned", f"Cluster/{family.name} Provisioned", waits=("AROCluster Ready",)),
    ]


def _infrastructure(family: ClusterManifests) -> Iterator[PlanStep]:
    owner = family.infrastructure
    if owner is None:
        return
    resources = family.resources(owner)
    needs: dict[embedded.ResourceIdentity, list[str]] = {}
    for edge in graph.edges(resources):
        needs.setdefault(edge.needing, []).append(str(edge.needed))
    for one in graph.ordered(resources):
        identity = embedded.identity(one)
        waits = tuple(dict.fromkeys(needs.get(identity, ())))
        yield PlanStep("infrastructure", str(identity), _describe_owner(owner), waits)
    yield PlanStep("infrastructure", "AROCluster ResourcesReady", _describe_owner(owner))


def _key(family: ClusterManifests) -> Iterator[PlanStep]:
    hcp, plane = family.hcp, family.control_plane
    said = keys.wish(hcp) if hcp is not None else None
    if said is None or plane is None:
        return
    if identities.reference(plane) is None:
        yield PlanStep(
            "key",
            f"key {said.name} version {said.version or '(missing)'}, as written",
            _describe_owner(plane),
        )
    else:
        yield PlanStep("key", f"key {said.name}, found or made in vault {said.vault}", _describe_owner(plane))


def _cluster(family: ClusterManifests) -> Iterator[PlanStep]:
    plane, hcp = family.control_plane, family.hcp
    if plane is None or hcp is None:
        return
    resources = family.resources(plane)
    made = controlplane.mutated(hcp, resources, family.name, _assumed(family))
    for before, after in zip(resources, made, strict=True):
        if not embedded.is_openshift(before, names.EXTERNAL_AUTH):
            waits = ("AROCluster ResourcesReady",) if family.infrastructure is not None else ()
            added = tuple(differences(before, after))
            yield PlanStep("cluster", str(embedded.identity(before)), _describe_owner(plane), waits, added)
    place = kubeconfigs.declared(
        controlplane.mutated(hcp, [hcp], family.name, _assumed(family))[0], family.name
    )
    yield PlanStep("cluster", "AROControlPlane HcpClusterReady", _describe_owner(plane))
    yield PlanStep("kubeconfig", f"Secret/{place.secret}", "Azure Service Operator")
    goal = kubeconfigs.target(family.name)
    if place != goal:
        yield PlanStep(
            "kubeconfig", f"Secret/{goal.secret}", _describe_owner(plane), (f"Secret/{place.secret}",)
        )
    yield PlanStep("kubeconfig", "AROControlPlane Ready, controlPlaneInitialized", _describe_owner(plane))


def _assumed(family: ClusterManifests) -> controlplane.KeyState:
    """The key as it will be: its version is known when it is looked up."""
    hcp, plane = family.hcp, family.control_plane
    said = keys.wish(hcp) if hcp is not None else None
    if said is None or plane is None or identities.reference(plane) is None:
        return controlplane.KeyState()
    return controlplane.KeyState(version=said.version or FROM_VAULT)


def _pools(family: ClusterManifests) -> Iterator[PlanStep]:
    if family.control_plane is None or family.hcp is None:
        return
    for pool in family.pools:
        if pool.machine_pool is None:
            continue
        resources = family.resources(pool.aro)
        pools = embedded.every(resources, names.NODE_POOL)
        if not pools:
            continue
        scaling = bool(embedded.value(pools[0], "spec.properties.autoScaling"))
        around = machinepool.PoolOwners(pool.machine_pool, family.cluster, family.control_plane, family.hcp)
        made, _ = machinepool.mutated(resources, pools[0], around, scaling)
        for before, after in zip(resources, made, strict=True):
            yield PlanStep(
                "pools",
                str(embedded.identity(before)),
                _describe_owner(pool.aro),
                ("AROControlPlane HcpClusterReady",),
                tuple(differences(before, after)),
            )


def _late(family: ClusterManifests) -> Iterator[PlanStep]:
    plane, hcp = family.control_plane, family.hcp
    if plane is None or hcp is None:
        return
    for one in embedded.every(family.resources(plane), names.EXTERNAL_AUTH):
        after = controlplane.owned_by(one, str(hcp["metadata"]["name"]))
        waits = ("a node pool of this cluster Ready",)
        added = tuple(differences(one, after))
        yield PlanStep("sign-in", str(embedded.identity(one)), _describe_owner(plane), waits, added)


def differences(before: Any, after: Any, path: str = "") -> Iterator[AddedValue]:
    """What one has and the other has not."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key, value in after.items():
            where = f"{path}.{key}" if path else str(key)
            if key not in before:
                yield AddedValue(where, value)
            else:
                yield from differences(before[key], value, where)
    elif before != after:
        yield AddedValue(path, after)


class RemovalEffect(NamedTuple):
    """What the removal of a resource from its list comes to."""

    deleted: tuple[str, ...]
    """It, and what Azure deletes with it."""
    broken: tuple[str, ...]
    """What refers to one of them and stays."""


def removal(families: Sequence[ClusterManifests], what: str) -> RemovalEffect | None:
    """What the removal of ``Kind/name`` would do; None when there is no such resource."""
    objects = [one for family in families for one in everything(family)]
    start = next((each for one in objects if str(each := embedded.identity(one)) == what), None)
    if start is None:
        return None
    edges = graph.edges(objects)
    gone = [start]
    for one in gone:
        gone += [
            edge.needing
            for edge in edges
            if edge.needed == one and edge.path == "spec.owner" and edge.needing not in gone
        ]
    left = [edge for edge in edges if edge.needed in gone and edge.needing not in gone]
    return RemovalEffect(
        tuple(map(str, gone)),
        tuple(dict.fromkeys(f"{edge.needing} ({edge.path} names {edge.needed})" for edge in left)),
    )


def everything(family: ClusterManifests) -> list[Object]:
    """All embedded resources of a cluster."""
    owners = [family.infrastructure, family.control_plane, *(pool.aro for pool in family.pools)]
    return [one for owner in owners if owner is not None for one in family.resources(owner)]


def _describe_owner(owner: Object) -> str:
    return f"{owner['kind']} {owner['metadata']['name']}"
