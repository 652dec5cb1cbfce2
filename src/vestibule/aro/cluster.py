"""``AROCluster``: the infrastructure of a cluster, and the mirror of its endpoint."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec.structs import replace

from vestibule.api import conditions
from vestibule.aro import aso_resources, embedded, lifecycle, names
from vestibule.aro.embedded import Object
from vestibule.aro.ports import ClusterReader, ObjectEvent, ObjectRef, ReconcileResult, Unreadable

_EXTERNAL = "ExternallyManagedControlPlane"


class ApiEndpoint(NamedTuple):
    """Where the API server of a cluster is."""

    host: str
    port: int


def endpoint(url: str) -> ApiEndpoint | None:
    """From the URL of an API server; its port is 443 where it names none. None when there is no host."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    return ApiEndpoint(host, port or (80 if parts.scheme == "http" else 443))


def ignored(obj: Object) -> bool:
    """Whether somebody else looks after it."""
    return names.MANAGED_BY in lifecycle.annotations_of(obj)


def decide(obj: Object, reader: ClusterReader) -> ReconcileResult:
    """One look at an AROCluster."""
    if ignored(obj):
        return ReconcileResult()
    cluster = lifecycle.owner_cluster(obj, reader)
    if lifecycle.paused(obj, cluster):
        return lifecycle.pausing(obj, reader)
    try:
        if lifecycle.deleting(obj):
            settled = aso_resources.settle(obj, [], reader)
            why = lifecycle.unasked(obj, "Cluster", cluster, reader)
            return (
                lifecycle.spared(obj, reader, why)
                if why and settled.standings
                else lifecycle.leave(obj, reader, settled)
            )
        return _decide(obj, cluster, reader)
    except Unreadable as error:
        return lifecycle.failed(obj, reader, "ReadFailed", str(error))
    except aso_resources.IncompatibleValue as error:
        return lifecycle.stuck(obj, reader, names.INCOMPATIBLE, str(error))


def _decide(obj: Object, cluster: Object | None, reader: ClusterReader) -> ReconcileResult:
    if cluster is None:
        return lifecycle.ownerless(obj, "Cluster", reader)
    if not lifecycle.refers_back(embedded.value(cluster, "spec.infrastructureRef"), obj):
        text = f"Cluster {cluster['metadata']['name']}, its owner, does not name it in spec.infrastructureRef"
        return lifecycle.stuck(obj, reader, "NotReferred", text)
    reference = (cluster.get("spec") or {}).get("controlPlaneRef")
    if not lifecycle.refers_to(reference, "AROControlPlane", names.CONTROL_PLANE):
        return lifecycle.stuck(
            obj, reader, "WrongControlPlane", "AROCluster cannot be used without AROControlPlane"
        )
    first = lifecycle.touched(obj)
    if first is not None:
        return first
    settled = aso_resources.settle(obj, embedded.resources(obj, reader.permitted), reader)
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
    made = ReconcileResult(
        outcome="error" if settled.unread else "done",
        message=settled.unread,
        after=settled.after,
        annotations=lifecycle.owned_annotation(obj, settled.owned),
        changes=settled.changes,
        desired=settled.desired,
        deletions=settled.deletions,
        events=settled.events(obj),
    )
    fields: Object = {"resources": settled.resources()}
    shared = [said, lifecycle.not_paused()]
    if ready < total:
        waiting = "; ".join([said.message, *_reasons(settled)])
        down = conditions.no(names.READY, said.reason, waiting)
        state = lifecycle.status(obj, reader, [*shared, down], ready=False, **fields)
        return replace(made, status=state)
    return _mirrored(obj, reader, str((reference or {}).get("name")), made, shared, fields)


def _mirrored(
    obj: Object,
    reader: ClusterReader,
    control_plane: str,
    made: ReconcileResult,
    shared: list[conditions.Condition],
    fields: Object,
) -> ReconcileResult:
    """The infrastructure is ready: the endpoint and the rest follow from the control plane."""
    beside = reader.get(
        ObjectRef(names.CONTROL_PLANE, "AROControlPlane", lifecycle.namespace(obj), control_plane)
    )
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
    state = lifecycle.status(
        obj, reader, [*shared, network, whole], ready=up, initialization={"provisioned": up}, **fields
    )
    events = (
        (ObjectEvent("Provisioned", "infrastructure and control plane are ready"),)
        if up and not lifecycle.holds(obj, names.READY)
        else ()
    )
    return replace(made, spec=spec, status=state, events=(*made.events, *events))


def _reasons(settled: aso_resources.ReconcilePlan) -> list[str]:
    """Of resources that are in trouble, what they say."""
    troubled = [one for one in settled.standings if one.state.severity in ("Error", "Warning")]
    return [f"{one}: {one.note or one.state.message or one.state.reason}" for one in troubled]
