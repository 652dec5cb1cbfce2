"""``AROControlPlane``: the cluster itself, its key, its kubeconfig and how people sign in.

The chain: infrastructure ready → key known → cluster applied → cluster ready → kubeconfig there → ready. How
people sign in waits until a node pool of this cluster is ready.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from vestibule.api import conditions
from vestibule.api.conditions import Condition
from vestibule.aro import aso_resources, embedded, identities, keys, kubeconfigs, lifecycle, names, readiness
from vestibule.aro.embedded import Gvk, Object
from vestibule.aro.ports import (
    ClusterReader,
    Listing,
    NoKind,
    ObjectEvent,
    ObjectRef,
    ReconcileResult,
    Unreadable,
)

_BESIDE: Final = {
    "ResourceGroup": "ResourceGroupReady",
    "VirtualNetwork": "VNetReady",
    "NetworkSecurityGroup": "SecurityGroupsReady",
    "VirtualNetworksSubnet": "SubnetsReady",
    "Vault": "VaultReady",
    "UserAssignedIdentity": "UserAssignedIdentitiesReady",
    "RoleAssignment": "RoleAssignmentReady",
}
"""Conditions of other kinds, where the control plane carries some."""
_SECRET_SECONDS: Final = 5.0
"""Until the next look for a kubeconfig that should be there: nobody tells of Secrets."""
_INFLIGHT: Final = "inflight"
"""Stands in what Azure says when it looked at the roles of a new cluster's identities and found them missing;
it refuses every change of that cluster from then on."""
_TOO_EARLY: Final = (
    "role assignments were not effective yet when it was created, and Azure changes such a cluster no more: "
    "delete HcpOpenShiftCluster {} when they are, and it is made anew"
)
_DEFERRED: Final = "ExternalAuth creation deferred until at least one node pool is ready"


def decide(obj: Object, reader: ClusterReader) -> ReconcileResult:
    """One look at an AROControlPlane."""
    cluster = lifecycle.owner_cluster(obj, reader)
    if lifecycle.paused(obj, cluster):
        return lifecycle.pausing(obj, reader)
    try:
        if lifecycle.deleting(obj):
            return _leave(obj, cluster, reader)
        return _decide(obj, cluster, reader)
    except aso_resources.IncompatibleValue as error:
        return lifecycle.stuck(obj, reader, names.INCOMPATIBLE, str(error), **_down(obj))
    except identities.NotAllowed as error:
        return lifecycle.failed(obj, reader, "IdentityNotUsable", str(error), **_down(obj))
    except Unreadable as error:
        made = lifecycle.failed(obj, reader, "ReadFailed", str(error))
        return replace(made, after=error.after) if error.after is not None else made


def _leave(obj: Object, cluster: Object | None, reader: ClusterReader) -> ReconcileResult:
    """How people sign in goes first, then the cluster with its pools; nothing else is needed for it."""
    settled = aso_resources.settle(obj, [], reader)
    why = lifecycle.unasked(obj, "Cluster", cluster, reader)
    if why and settled.standings:
        return lifecycle.spared(obj, reader, why)
    first = [one for one in settled.leaving if embedded.is_openshift(one, names.EXTERNAL_AUTH)]
    if first:
        going = tuple(one for one in settled.deletions if one in first)
        settled = settled._replace(deletions=going)
    return lifecycle.leave(obj, reader, settled)


def _down(obj: Object) -> Object:
    """The fields of a status that is not ready."""
    initialized = embedded.value(obj, "status.initialization.controlPlaneInitialized") is True
    return {"ready": False, "initialization": {"controlPlaneInitialized": initialized}}


def _decide(obj: Object, cluster: Object | None, reader: ClusterReader) -> ReconcileResult:
    if cluster is None:
        return lifecycle.ownerless(obj, "Cluster", reader)
    if not lifecycle.refers_back(embedded.value(cluster, "spec.controlPlaneRef"), obj):
        text = f"Cluster {cluster['metadata']['name']}, its owner, does not name it in spec.controlPlaneRef"
        return lifecycle.stuck(obj, reader, "NotReferred", text, **_down(obj))
    reference = embedded.value(cluster, "spec.infrastructureRef")
    if not lifecycle.refers_to(reference, "AROCluster", names.INFRASTRUCTURE):
        return lifecycle.stuck(
            obj, reader, "WrongInfrastructure", "AROControlPlane cannot be used without AROCluster"
        )
    first = lifecycle.touched(obj)
    if first is not None:
        return first
    resources = embedded.resources(obj, reader.permitted)
    clusters = embedded.every(resources, names.HCP)
    if not clusters:
        text = (
            f"spec.resources holds no HcpOpenShiftCluster, want one{embedded.reasons(obj, reader.permitted)}"
        )
        return lifecycle.stuck(obj, reader, "NoHcpOpenShiftCluster", text, **_down(obj))
    place = ObjectRef(names.INFRASTRUCTURE, "AROCluster", lifecycle.namespace(obj), str(reference["name"]))
    infrastructure = reader.get(place)
    waiting = _waiting(infrastructure, reader)
    if waiting:
        said = conditions.no(names.READY, "WaitingForInfrastructure", waiting)
        state = lifecycle.status(
            obj, reader, [said, _unavailable(said), lifecycle.not_paused()], **_down(obj)
        )
        return ReconcileResult(status=state)
    hcp = clusters[0]
    key = _key(obj, hcp, infrastructure, reader)
    if key.stop is not None:
        return key.stop
    return _applied(obj, cluster, hcp, resources, key, reader)


def _waiting(infrastructure: Object | None, reader: ClusterReader) -> str:
    if infrastructure is None:
        return "waiting for the AROCluster to be created"
    if embedded.resources(infrastructure, reader.permitted) and not lifecycle.holds(
        infrastructure, names.RESOURCES_READY
    ):
        return "waiting for the resources of the AROCluster"
    return ""


class KeyState(NamedTuple):
    """What is known of the key."""

    condition: Condition | None = None
    """None: the cluster does not bring one."""
    version: str = ""
    """To be written into the cluster."""
    stop: ReconcileResult | None = None


def _key(obj: Object, hcp: Object, infrastructure: Object | None, reader: ClusterReader) -> KeyState:
    said = keys.wish(hcp)
    if said is None:
        return KeyState()
    ref = identities.reference(obj)
    if ref is None:
        missing = keys.unspecified(said)
        if missing is not None:
            return KeyState(missing, stop=_stopped(obj, missing, reader, outcome="error"))
        return KeyState(Condition(names.KEY_READY, "Unknown", "ManualKeyManagement", keys.MANUAL))
    identities.checked(obj, ref, reader)
    try:
        found = keys.find_version(obj, said, infrastructure, ref, reader)
    except Unreadable as error:
        text = f"key '{said.name}' in vault '{said.vault}': {error.why}"
        condition = conditions.no(names.KEY_READY, "KeyUnreadable", text)
        return KeyState(condition, stop=_stopped(obj, condition, reader, outcome="error", after=error.after))
    if found.error:
        return KeyState(found.condition, stop=_stopped(obj, found.condition, reader, outcome="error"))
    if not found.version:
        stop = _stopped(obj, found.condition, reader, outcome="requeue", after=keys.VAULT_SECONDS)
        return KeyState(found.condition, stop=stop)
    if said.version and said.version != found.version:
        raise aso_resources.IncompatibleValue(
            f"{embedded.identity(hcp)}: {keys.VERSION} is {said.version!r}, while the current version of key "
            f"{said.name!r} in vault {said.vault!r} is {found.version!r}: take that one, or leave it out"
        )
    return KeyState(found.condition, found.version)


def _stopped(obj: Object, condition: Condition, reader: ClusterReader, **fields: Any) -> ReconcileResult:
    """The key is not known: nothing of the cluster is applied."""
    down = conditions.no(names.READY, condition.reason, condition.message)
    state = lifecycle.status(
        obj, reader, [condition, down, _unavailable(down), lifecycle.not_paused()], **_down(obj)
    )
    return ReconcileResult(message=condition.message, status=state, **fields)


def _applied(
    obj: Object, cluster: Object, hcp: Object, resources: list[Object], key: KeyState, reader: ClusterReader
) -> ReconcileResult:
    name = str(cluster["metadata"]["name"])
    wished, deferred = _deferred(obj, hcp, mutated(hcp, resources, name, key), reader)
    settled = aso_resources.settle(obj, wished, reader)
    live = settled.live.get(embedded.identity(hcp))
    said: list[Condition] = [lifecycle.not_paused(), *_grouped(settled)]
    said += [key.condition] if key.condition is not None else []
    said.append(_cluster_ready(hcp, live))
    said += _auth(resources, settled, deferred)
    desired = next((one for one in wished if embedded.identity(one) == embedded.identity(hcp)), hcp)
    kept = kubeconfigs.plan_kubeconfig(obj, desired, live, name, reader)
    said += [kept.condition] if kept.condition is not None else []
    up = readiness.of(live).ready and kept.there
    down = _why(said, kept, settled)
    said.append(conditions.yes(names.READY, "Ready") if up else down)
    said.append(conditions.yes(names.AVAILABLE, "Available") if up else _unavailable(down))
    state = lifecycle.status(
        obj,
        reader,
        said,
        retired=_retired(said),
        ready=up,
        initialization={"controlPlaneInitialized": up},
        resources=settled.resources(),
        **_facts(live),
    )
    news = up and not lifecycle.holds(obj, names.READY)
    late = readiness.of(live).ready and not kept.there
    return ReconcileResult(
        outcome="error" if settled.unread else "done",
        message=settled.unread,
        after=_SECRET_SECONDS if late else min(filter(None, (kept.after, settled.after)), default=None),
        annotations=lifecycle.owned_annotation(obj, settled.owned),
        changes=(*settled.changes, *kept.changes),
        desired=settled.desired,
        deletions=settled.deletions,
        secrets=kept.secrets,
        status=state,
        events=(
            *((ObjectEvent("Ready", "the cluster is ready and its kubeconfig is there"),) if news else ()),
            *_ending(obj, kept.condition),
            *settled.events(obj),
            *(ObjectEvent("SecretNotOurs", text, warning=True) for text in kept.foreign),
        ),
        ends=kept.until,
    )


def _ending(obj: Object, told: Condition | None) -> tuple[ObjectEvent, ...]:
    """A kubeconfig that ends soon is told when that begins."""
    if told is None or told.status == "True":
        return ()
    known = conditions.find(embedded.value(obj, "status.conditions"), told.type)
    if known is not None and known.get("reason") == told.reason:
        return ()
    return (ObjectEvent(f"Kubeconfig{told.reason}", told.message, warning=True),)


def mutated(hcp: Object, resources: list[Object], cluster: str, key: KeyState) -> list[Object]:
    """The resources with what is needed besides what the user wrote."""
    owner = str(hcp["metadata"]["name"])
    made: list[Object] = []
    for one in resources:
        if embedded.identity(one) == embedded.identity(hcp):
            changed = kubeconfigs.with_credentials(one, cluster)
            if key.version:
                changed = embedded.with_value(changed, keys.VERSION, key.version)
            made.append(changed)
        elif embedded.is_openshift(one, names.EXTERNAL_AUTH):
            made.append(owned_by(one, owner))
        else:
            made.append(one)
    return made


def owned_by(one: Object, owner: str) -> Object:
    """A resource of the cluster that names it as its owner. Raises IncompatibleValue where it names
    another."""
    found = embedded.value(one, "spec.owner")
    if not found:
        return embedded.with_value(one, "spec.owner", {"name": owner})
    named = embedded.value(one, "spec.owner.name")
    if named is not None and named != owner:
        raise aso_resources.IncompatibleValue(
            f"{embedded.identity(one)}: spec.owner.name is {named!r}, want {owner!r}, the HcpOpenShiftCluster"
        )
    return one


def _deferred(
    obj: Object, hcp: Object, wished: list[Object], reader: ClusterReader
) -> tuple[list[Object], list[Object]]:
    """Those to be applied now, and those that wait: an ExternalAuth that does not exist waits for a pool."""
    waiting = embedded.every(wished, names.EXTERNAL_AUTH)
    if not waiting or _pool_ready(obj, hcp, reader):
        return wished, []
    late = []
    for one in waiting:
        what = embedded.of(one)
        ref = ObjectRef(
            what.group, what.kind, lifecycle.namespace(obj), one["metadata"]["name"], what.version
        )
        try:
            if reader.get(ref) is None:
                late.append(one)
        except NoKind:
            late.append(one)
        except Unreadable:
            continue  # whether it is there is not known: it is neither applied nor taken for one that left
    return [one for one in wished if one not in late], late


def _pool_ready(obj: Object, hcp: Object, reader: ClusterReader) -> bool:
    """Whether a node pool of this very cluster is ready."""
    try:
        pools = reader.list(Listing(Gvk(names.OPENSHIFT, "", names.NODE_POOL), lifecycle.namespace(obj)))
    except NoKind:
        return False
    owner = hcp["metadata"]["name"]
    return any(
        embedded.value(pool, "spec.owner.name") == owner and readiness.of(pool).ready for pool in pools
    )


def _cluster_ready(hcp: Object, live: Object | None) -> Condition:
    if live is None:
        text = f"HcpOpenShiftCluster {hcp['metadata']['name']} does not exist yet"
        return conditions.no(names.HCP_READY, "HcpOpenShiftClusterNotFound", text)
    found = readiness.mirrored(names.HCP_READY, readiness.of(live), "HcpOpenShiftCluster is not yet ready")
    if found.status != "True" and _INFLIGHT in found.message.lower():
        return found._replace(message=f"{found.message}; {_TOO_EARLY.format(hcp['metadata']['name'])}")
    return found


def _auth(
    resources: list[Object], settled: aso_resources.ReconcilePlan, deferred: list[Object]
) -> list[Condition]:
    asked = embedded.every(resources, names.EXTERNAL_AUTH)
    if not asked:
        return []
    if deferred:
        return [conditions.no(names.AUTH_READY, "WaitingForNodePool", _DEFERRED)]
    live = settled.live.get(embedded.identity(asked[0]))
    text = "External authentication is being configured"
    return [readiness.mirrored(names.AUTH_READY, readiness.of(live), text)]


def _grouped(settled: aso_resources.ReconcilePlan) -> list[Condition]:
    """Conditions of the other kinds that the control plane carries."""
    found: list[Condition] = []
    for kind, condition in _BESIDE.items():
        several = [one for one in settled.standings if one.gvk.kind == kind]
        late = [one.name for one in several if not one.state.ready]
        if late:
            text = f"Waiting for {kind} to be ready: [{' '.join(late)}]"
            found.append(conditions.no(condition, "Creating", text))
        elif several:
            found.append(conditions.yes(condition, "Succeeded"))
    return found


def _retired(said: list[Condition]) -> list[str]:
    """Conditions whose cause is not in the spec any more."""
    told = {one.type for one in said}
    ours = (names.KEY_READY, names.AUTH_READY, names.KUBECONFIG_READY, names.DELETING, *_BESIDE.values())
    return [one for one in ours if one not in told]


def _why(
    said: list[Condition], kept: kubeconfigs.KubeconfigPlan, settled: aso_resources.ReconcilePlan
) -> Condition:
    """Why it is not ready, the first reason that counts."""
    if settled.notes:
        return conditions.no(names.READY, "NotApplied", "; ".join(settled.notes))
    for one in said:
        if one.type == names.HCP_READY and one.status != "True":
            return conditions.no(names.READY, one.reason, one.message)
    text = kept.problem or "waiting for the kubeconfig of the cluster"
    return conditions.no(names.READY, "KubeconfigInvalid" if kept.problem else "WaitingForKubeconfig", text)


def _unavailable(down: Condition) -> Condition:
    return down._replace(type=names.AVAILABLE)


def _facts(live: Object | None) -> Object:
    """What the cluster tells about itself; what it does not tell stays as it was."""
    found = {
        "id": embedded.value(live, "status.id"),
        "consoleURL": embedded.value(live, "status.properties.console.url"),
        "apiURL": embedded.value(live, "status.properties.api.url"),
        "version": embedded.value(live, "status.properties.version.id"),
    }
    return {key: value for key, value in found.items() if value}
