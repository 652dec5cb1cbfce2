"""``AROMachinePool``: one node pool of a cluster, and its MachinePool.

The pool is applied once its cluster is ready, whether or not a kubeconfig is there yet: the first nodes come
before it. Who counts the nodes is told on the MachinePool: it, or Azure where the pool scales itself.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from vestibule import errors
from vestibule.api import conditions
from vestibule.api.conditions import Condition
from vestibule.aro import aso_resources, controlplane, embedded, lifecycle, names, ownership, readiness
from vestibule.aro.embedded import Gvk, Object
from vestibule.aro.ports import (
    ClusterReader,
    Listing,
    MergePatch,
    NodesQuestion,
    NoKind,
    ObjectEvent,
    ObjectRef,
    ReconcileResult,
    Unreadable,
)

_LONGEST_LABEL: Final = 63
_NODES_SECONDS: Final = 5.0
"""Until the next look at nodes that are not as many as they should be: no watch tells of them."""
_SCALED_SECONDS: Final = 60.0
"""The same for a pool that scales itself: how many there should be is not known."""
_WORKING: Final = ("Succeeded", "Updating")
"""States of Azure in which a pool has its nodes."""


class ExternallyScaled(errors.VestibuleError):
    """Somebody else counts the replicas of a MachinePool whose pool scales itself."""


class PoolOwners(NamedTuple):
    """What a pool belongs to."""

    machine_pool: Object
    cluster: Object
    control_plane: Object
    hcp: Object
    """As the control plane carries it."""


def decide(obj: Object, reader: ClusterReader) -> ReconcileResult:
    """One look at an AROMachinePool."""
    try:
        machine_pool, cluster = _owners(obj, reader)
        if lifecycle.paused(obj, cluster):
            return lifecycle.pausing(obj, reader)
        if lifecycle.deleting(obj):
            return _leave(obj, machine_pool, cluster, reader)
        around = _around(obj, machine_pool, cluster, reader)
        if around is None:
            return (
                lifecycle.ownerless(obj, "MachinePool", reader) if machine_pool is None else ReconcileResult()
            )
        if isinstance(around, Condition):
            said = [around, lifecycle.not_paused()]
            return ReconcileResult(status=lifecycle.status(obj, reader, said, ready=False))
        return _decide(obj, around, reader)
    except aso_resources.IncompatibleValue as error:
        return lifecycle.stuck(obj, reader, names.INCOMPATIBLE, str(error), _failed(error), ready=False)
    except ExternallyScaled as error:
        return lifecycle.failed(
            obj, reader, "ReplicasManagedElsewhere", str(error), _failed(error), ready=False
        )
    except Unreadable as error:
        return lifecycle.failed(obj, reader, "ReadFailed", str(error), _failed(error))


def _failed(error: Exception) -> Condition:
    return conditions.no(names.AGENT_POOLS_READY, "Failed", str(error))


def _owners(obj: Object, reader: ClusterReader) -> tuple[Object | None, Object | None]:
    """The MachinePool, and the Cluster of either."""
    ref = lifecycle.owner(obj, "MachinePool")
    machine_pool = reader.get(ref) if ref is not None else None
    if machine_pool is None:
        name = lifecycle.labels_of(obj).get(names.CLUSTER_NAME)
        if not name:
            return None, None
        return None, reader.get(ObjectRef(names.CLUSTER_API, "Cluster", lifecycle.namespace(obj), name))
    cluster = lifecycle.owner_cluster(machine_pool, reader)
    if cluster is None:
        name = str(embedded.value(machine_pool, "spec.clusterName") or "")
        if name:
            cluster = reader.get(ObjectRef(names.CLUSTER_API, "Cluster", lifecycle.namespace(obj), name))
    return machine_pool, cluster


def _leave(
    obj: Object, machine_pool: Object | None, cluster: Object | None, reader: ClusterReader
) -> ReconcileResult:
    """With the whole cluster a pool goes as its part: Azure refuses to delete the last one by itself."""
    why = lifecycle.unasked(obj, "MachinePool", machine_pool, reader)
    asked = cluster is not None and lifecycle.deleting(cluster)
    if why and not asked and aso_resources.settle(obj, [], reader).standings:
        return lifecycle.spared(obj, reader, why)
    if cluster is None or lifecycle.deleting(cluster):
        return ReconcileResult(annotations=lifecycle.owned_annotation(obj, ""), finalizer=False)
    return lifecycle.leave(obj, reader, aso_resources.settle(obj, [], reader))


def _around(
    obj: Object, machine_pool: Object | None, cluster: Object | None, reader: ClusterReader
) -> PoolOwners | Condition | None:
    """What it belongs to; a condition that says what it waits for; None when nobody owns it yet."""
    if machine_pool is None or cluster is None:
        return None
    reference = embedded.value(cluster, "spec.controlPlaneRef")
    if not lifecycle.refers_to(reference, "AROControlPlane", names.CONTROL_PLANE):
        return None
    if not lifecycle.refers_back(embedded.value(machine_pool, "spec.template.spec.infrastructureRef"), obj):
        name = machine_pool["metadata"]["name"]
        text = f"MachinePool {name}, its owner, does not name it in spec.template.spec.infrastructureRef"
        return conditions.no(names.READY, "NotReferred", text)
    where = lifecycle.namespace(obj)
    beside = reader.get(ObjectRef(names.CONTROL_PLANE, "AROControlPlane", where, str(reference["name"])))
    if beside is None:
        return conditions.no(names.READY, "WaitingForControlPlane", "waiting for the AROControlPlane")
    clusters = embedded.every(embedded.resources(beside, reader.permitted), names.HCP)
    if not lifecycle.holds(beside, names.HCP_READY):
        return conditions.no(names.READY, "WaitingForControlPlane", "waiting for the cluster to be ready")
    hcp = clusters[0] if clusters else {"metadata": {"name": cluster["metadata"]["name"]}}
    return PoolOwners(machine_pool, cluster, beside, hcp)


def _decide(obj: Object, around: PoolOwners, reader: ClusterReader) -> ReconcileResult:
    held = names.FINALIZERS["AROMachinePool"] in (obj["metadata"].get("finalizers") or ())
    blocked = names.BLOCK_MOVE in lifecycle.annotations_of(obj)
    resources = embedded.resources(obj, reader.permitted)
    pools = embedded.every(resources, names.NODE_POOL)
    if not pools:
        why = embedded.reasons(obj, reader.permitted)
        raise aso_resources.IncompatibleValue(
            f"spec.resources holds no HcpOpenShiftClustersNodePool, want one{why}"
        )
    pool = pools[0]
    scaling = bool(embedded.value(pool, "spec.properties.autoScaling"))
    manager = _manager(around.machine_pool, scaling)
    wished, told = mutated(resources, pool, around, scaling)
    settled = aso_resources.settle(obj, wished, reader)
    live = settled.live.get(embedded.identity(pool))
    state = _read(obj, live, around, pool, reader)
    ready = str(state.fields.get("provisioningState") or "") in _WORKING
    conditions_said = [
        *_conditions(live),
        _integer(ready, live, settled),
        lifecycle.not_paused(),
        *state.unread,
    ]
    provisioned = embedded.value(obj, "status.initialization.provisioned") is True or (
        bool(settled.standings) and settled.ready == len(settled.standings)
    )
    status = lifecycle.status(
        obj,
        reader,
        conditions_said,
        retired=[names.DELETING, *([] if state.unread else [names.NODES_READ])],
        ready=ready,
        initialization={"provisioned": True} if provisioned else {},
        resources=settled.resources(),
        **state.fields,
    )
    changed = _machine_pool(around.machine_pool, manager, state.counted if scaling else None)
    marked: dict[str, str | None] = {} if blocked else {names.BLOCK_MOVE: "true"}
    return ReconcileResult(
        outcome="error" if settled.unread else "done",
        message=settled.unread,
        after=settled.after or state.after,
        finalizer=None if held else True,
        annotations=marked | lifecycle.owned_annotation(obj, settled.owned),
        changes=(*settled.changes, *changed),
        desired=settled.desired,
        deletions=settled.deletions,
        spec=state.spec,
        status=status,
        events=(*told, *settled.events(obj)),
    )


def _manager(machine_pool: Object, scaling: bool) -> str | None:
    """Who counts the replicas from now on: the annotation, None when there is none."""
    found = lifecycle.annotations_of(machine_pool).get(names.REPLICAS_MANAGED_BY)
    if scaling:
        if found not in (None, names.REPLICA_MANAGER):
            raise ExternallyScaled(
                f"MachinePool {machine_pool['metadata']['name']}: annotation {names.REPLICAS_MANAGED_BY} is "
                f"{found!r}, while its node pool scales itself: remove autoScaling, or the annotation"
            )
        return names.REPLICA_MANAGER
    return None if found == names.REPLICA_MANAGER else found


def mutated(
    resources: list[Object], pool: Object, around: PoolOwners, scaling: bool
) -> tuple[list[Object], list[ObjectEvent]]:
    """The resources as they are wanted: owned by the cluster, with the MachinePool's count and version."""
    owner = str(around.hcp["metadata"]["name"])
    told: list[ObjectEvent] = []
    made: list[Object] = []
    for one in resources:
        if not embedded.is_openshift(one, names.NODE_POOL):
            made.append(one)
            continue
        changed = controlplane.owned_by(one, owner)
        if one is pool:
            if not scaling:
                changed = _given(changed, "spec.properties.replicas", around, "spec.replicas", told)
            changed = _given(
                changed, "spec.properties.version.id", around, "spec.template.spec.version", told
            )
        made.append(changed)
    return made, told


def _given(one: Object, path: str, around: PoolOwners, source: str, told: list[ObjectEvent]) -> Object:
    """The MachinePool's value where the resource has none; where both have one the resource's is kept, and
    told if they differ."""
    wanted = embedded.value(around.machine_pool, source)
    if wanted is None:
        return one
    if isinstance(wanted, str):
        wanted = wanted.removeprefix("v")
    own = embedded.value(one, path)
    if own is None:
        return embedded.with_value(one, path, wanted)
    if own != wanted:
        told.append(
            ObjectEvent(
                "ConflictingValue",
                f"{embedded.identity(one)}: {path} is {own!r}, the MachinePool's {source} is {wanted!r}: "
                "the resource counts; leave it out there to let the MachinePool decide",
                warning=True,
            )
        )
    return one


class _PoolState(NamedTuple):
    """What the pool and its nodes tell."""

    fields: Object
    spec: Object
    counted: int | None
    """Nodes there are; None when that is not known."""
    after: float | None
    """When to look for nodes again."""
    unread: list[Condition]
    """Why the nodes of the cluster could not be read; empty: nothing is wrong."""


def _read(
    obj: Object, live: Object | None, around: PoolOwners, pool: Object, reader: ClusterReader
) -> _PoolState:
    fields: Object = {}
    if live is not None:
        told = {
            "id": embedded.value(live, "status.id"),
            "version": embedded.value(live, "status.properties.version.id"),
            "provisioningState": embedded.value(live, "status.properties.provisioningState"),
        }
        fields = {key: value for key, value in told.items() if value}
    replicas = embedded.value(live, "status.properties.replicas")
    if replicas is None:
        replicas = embedded.value(around.machine_pool, "spec.replicas")
    counted: int | None = None
    wanted = replicas
    spec: Object = {}
    unread: list[Condition] = []
    if live is not None:
        try:
            nodes = reader.nodes(_question(around, pool, reader))
        except Unreadable as error:
            # the pool itself does not wait for its nodes to be counted
            nodes = None
            unread = [conditions.no(names.NODES_READ, "KubeconfigRefused", error.why)]
        ids = sorted(one.provider_id for one in nodes or () if one.provider_id)
        if ids or (nodes is not None and wanted == 0):
            counted = replicas = len(ids)
            if ids != (embedded.value(obj, "spec.providerIDList") or []):
                spec = {"providerIDList": ids}
    if replicas is not None:
        fields["replicas"] = replicas
    after = None
    if readiness.of(live).ready and (wanted or 0) != (counted or 0):
        after = _NODES_SECONDS
    elif embedded.value(pool, "spec.properties.autoScaling"):
        after = _SCALED_SECONDS
    return _PoolState(fields, spec, counted, after, unread)


def _question(around: PoolOwners, pool: Object, reader: ClusterReader) -> NodesQuestion:
    """Which nodes are this pool's, as the hosting side labels them."""
    cluster = around.cluster["metadata"]
    where = str(cluster.get("namespace") or "")
    try:
        listed = reader.list(Listing(Gvk(names.OPENSHIFT, "", names.HCP), where))
    except NoKind:
        listed = ()
    found = next((one for one in listed if one["metadata"]["name"] == around.hcp["metadata"]["name"]), None)
    prefix = embedded.value(found, "status.properties.dns.baseDomainPrefix") or cluster["name"]
    value = f"{prefix}-{embedded.azure_name(pool)}"[:_LONGEST_LABEL]
    ref = ObjectRef(names.CLUSTER_API, "Cluster", where, str(cluster["name"]))
    return NodesQuestion(ref, names.NODE_POOL_LABEL, value)


def _conditions(live: Object | None) -> list[Condition]:
    fine = conditions.yes(names.AGENT_POOLS_READY, "Succeeded")
    if live is None:
        text = "HcpOpenShiftClustersNodePool resource not found"
        late = fine._replace(status="False", reason="NodePoolNotFound", message=text)
        return [conditions.no(names.NODE_POOL_READY, "NodePoolNotFound", text), late]
    state = readiness.of(live)
    return [
        readiness.mirrored(names.NODE_POOL_READY, state, "HcpOpenShiftClustersNodePool is not yet ready"),
        readiness.mirrored(names.MACHINE_POOL_READY, state, "ARO machine pool is not yet ready"),
        fine,
    ]


def _integer(ready: bool, live: Object | None, settled: aso_resources.ReconcilePlan) -> Condition:
    if settled.notes:
        return conditions.no(names.READY, "NotApplied", "; ".join(settled.notes))
    if ready:
        return conditions.yes(names.READY, "Ready")
    state = readiness.of(live)
    text = state.message or "waiting for the node pool"
    return conditions.no(names.READY, state.reason or "Provisioning", text)


def _machine_pool(machine_pool: Object, manager: str | None, counted: int | None) -> list[MergePatch]:
    """What changes on the MachinePool: who counts, and the count where Azure does."""
    patch: dict[str, Any] = {}
    if lifecycle.annotations_of(machine_pool).get(names.REPLICAS_MANAGED_BY) != manager:
        patch["metadata"] = {"annotations": {names.REPLICAS_MANAGED_BY: manager}}
    if counted is not None and embedded.value(machine_pool, "spec.replicas") != counted:
        patch["spec"] = {"replicas": counted}
    return [ownership.change(machine_pool, patch)] if patch else []
