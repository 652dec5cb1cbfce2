"""``AROCluster``: the infrastructure of a cluster, and the mirror of its endpoint."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from vestibule.core.aro import embedded, engine, names, subject
from vestibule.core.aro.embedded import Object
from vestibule.core.aro.world import Pass, Ref, Told, Unreadable, World
from vestibule.core.kinds import conditions

_EXTERNAL = "ExternallyManagedControlPlane"


class Endpoint(NamedTuple):
    """Where the API server of a cluster is."""

    host: str
    port: int


def endpoint(url: str) -> Endpoint | None:
    """From the URL of an API server; its port is 443 where it names none. None when there is no host."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    return Endpoint(host, port or (80 if parts.scheme == "http" else 443))


def ignored(obj: Object) -> bool:
    """Whether somebody else looks after it."""
    return names.MANAGED_BY in subject.annotations_of(obj)


def decide(obj: Object, world: World) -> Pass:
    """One look at an AROCluster."""
    if ignored(obj):
        return Pass()
    cluster = subject.owner_cluster(obj, world)
    if subject.paused(obj, cluster):
        return subject.pausing(obj, world)
    try:
        if subject.deleting(obj):
            settled = engine.settle(obj, [], world)
            why = subject.unasked(obj, "Cluster", cluster, world)
            return (
                subject.spared(obj, world, why)
                if why and settled.standings
                else subject.leave(obj, world, settled)
            )
        return _decide(obj, cluster, world)
    except Unreadable as error:
        return subject.failed(obj, world, "ReadFailed", str(error))
    except engine.Incompatible as error:
        return subject.stuck(obj, world, names.INCOMPATIBLE, str(error))


def _decide(obj: Object, cluster: Object | None, world: World) -> Pass:
    if cluster is None:
        return subject.ownerless(obj, "Cluster", world)
    if not subject.refers_back(embedded.value(cluster, "spec.infrastructureRef"), obj):
        text = f"Cluster {cluster['metadata']['name']}, its owner, does not name it in spec.infrastructureRef"
        return subject.stuck(obj, world, "NotReferred", text)
    reference = (cluster.get("spec") or {}).get("controlPlaneRef")
    if not subject.refers_to(reference, "AROControlPlane", names.CONTROL_PLANE):
        return subject.stuck(
            obj, world, "WrongControlPlane", "AROCluster cannot be used without AROControlPlane"
        )
    first = subject.touched(obj)
    if first is not None:
        return first
    settled = engine.settle(obj, embedded.resources(obj, world.permitted), world)
    total, ready = len(settled.standings), settled.ready
    if ready == total:
        said = conditions.yes(
            names.RESOURCES_READY, "InfrastructureReady", f"All {total} infrastructure resources are ready"
        )
    else:
        said = conditions.no(
            names.RESOURCES_READY,
            "ProvisioningInfrastructure",
            f"Waiting for infrastructure resources: {ready}/{total} ready",
        )
    made = Pass(
        outcome="error" if settled.unread else "done",
        message=settled.unread,
        after=settled.after,
        annotations=subject.owned_annotation(obj, settled.owned),
        changes=settled.changes,
        desired=settled.desired,
        deletions=settled.deletions,
        events=settled.events(obj),
    )
    fields: Object = {"resources": settled.resources()}
    shared = [said, subject.not_paused()]
    if ready < total:
        waiting = "; ".join([said.message, *_reasons(settled)])
        down = conditions.no(names.READY, said.reason, waiting)
        state = subject.status(obj, world, [*shared, down], ready=False, **fields)
        return replace(made, status=state)
    return _mirrored(obj, world, str((reference or {}).get("name")), made, shared, fields)


def _mirrored(
    obj: Object,
    world: World,
    control_plane: str,
    made: Pass,
    shared: list[conditions.Condition],
    fields: Object,
) -> Pass:
    """The infrastructure is ready: the endpoint and the rest follow from the control plane."""
    beside = world.get(Ref(names.CONTROL_PLANE, "AROControlPlane", subject.namespace(obj), control_plane))
    url = str(embedded.value(beside, "status.apiURL") or "")
    found = endpoint(url) if url else None
    up = found is not None and embedded.value(beside, "status.ready") is True
    if up:
        network = conditions.yes(names.NETWORK_READY, "Succeeded")
        whole = conditions.yes(names.READY, "Provisioned")
    else:
        waiting = "port" if found is not None else "to get ready"
        network = conditions.no(names.NETWORK_READY, _EXTERNAL, f"Waiting for the Control Plane {waiting}")
        whole = conditions.no(names.READY, _EXTERNAL, network.message)
    spec: Object = {}
    if found is not None and embedded.value(obj, "spec.controlPlaneEndpoint") != found._asdict():
        spec = {"controlPlaneEndpoint": found._asdict()}
    state = subject.status(
        obj, world, [*shared, network, whole], ready=up, initialization={"provisioned": up}, **fields
    )
    events = (
        (Told("Provisioned", "infrastructure and control plane are ready"),)
        if up and not subject.holds(obj, names.READY)
        else ()
    )
    return replace(made, spec=spec, status=state, events=(*made.events, *events))


def _reasons(settled: engine.Settled) -> list[str]:
    """Of resources that are in trouble, what they say."""
    troubled = [one for one in settled.standings if one.state.severity in ("Error", "Warning")]
    return [f"{one}: {one.note or one.state.message or one.state.reason}" for one in troubled]
