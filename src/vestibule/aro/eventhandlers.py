"""Which ARO objects a change of another object concerns. An update is mapped for both its states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vestibule.aro import cluster, embedded, lifecycle, names, ownership
from vestibule.aro.embedded import Object

Key = tuple[str, str, str]
"""Kind, namespace, name."""


def own(obj: Object) -> Iterator[Key]:
    """The object itself, unless somebody else looks after it."""
    if not cluster.ignored(obj):
        yield str(obj["kind"]), lifecycle.namespace(obj), str(obj["metadata"]["name"])


def control_plane(obj: Object, clusters: Iterable[Object]) -> Iterator[Key]:
    """An AROControlPlane with an endpoint concerns the AROCluster of its Cluster."""
    if lifecycle.deleting(obj) or not embedded.value(obj, "status.apiURL"):
        return
    owner = lifecycle.owner(obj, "Cluster")
    for one in clusters:
        if owner is not None and one["metadata"]["name"] == owner.name and _same_place(one, obj):
            yield from _referred(one, "infrastructureRef", "AROCluster", names.INFRASTRUCTURE)


def sibling_control_plane(obj: Object, clusters: Iterable[Object]) -> Iterator[Key]:
    """An AROCluster or AROMachinePool concerns the AROControlPlane of the Cluster that its label names."""
    name = lifecycle.labels_of(obj).get(names.CLUSTER_NAME)
    for one in clusters:
        if name and one["metadata"]["name"] == name and _same_place(one, obj):
            yield from _referred(one, "controlPlaneRef", "AROControlPlane", names.CONTROL_PLANE)


def all_of_cluster(obj: Object, pools: Iterable[Object]) -> Iterator[Key]:
    """A Cluster concerns everything that it refers to, and its pools."""
    yield from _referred(obj, "infrastructureRef", "AROCluster", names.INFRASTRUCTURE)
    yield from _referred(obj, "controlPlaneRef", "AROControlPlane", names.CONTROL_PLANE)
    yield from pools_of(obj["metadata"]["name"], lifecycle.namespace(obj), pools)


def machine_pool(obj: Object) -> Iterator[Key]:
    """A MachinePool concerns the AROMachinePool that its template names."""
    reference = embedded.value(obj, "spec.template.spec.infrastructureRef")
    if lifecycle.refers_to(reference, "AROMachinePool", names.INFRASTRUCTURE):
        yield "AROMachinePool", lifecycle.namespace(obj), str(reference["name"])


def pools_of(name: str, namespace: str, pools: Iterable[Object]) -> Iterator[Key]:
    """The AROMachinePools of a cluster, by their label."""
    for one in pools:
        labelled = lifecycle.labels_of(one).get(names.CLUSTER_NAME)
        if labelled == name and lifecycle.namespace(one) == namespace:
            yield "AROMachinePool", namespace, str(one["metadata"]["name"])


def inside(obj: Object) -> Iterator[Key]:
    """An embedded object concerns who controls it; whatever changed in it, its status may be read."""
    holder = ownership.controller(obj)
    if holder is not None and holder.get("kind") in names.FINALIZERS:
        yield str(holder["kind"]), lifecycle.namespace(obj), str(holder.get("name"))


def changed(before: Mapping[str, Any] | None, after: Mapping[str, Any], *paths: str) -> bool:
    """Whether one of these values is another one; so it is for a new object that has any of them."""
    return any(embedded.value(before, path) != embedded.value(after, path) for path in paths)


def _referred(one: Object, field: str, kind: str, group: str) -> Iterator[Key]:
    reference = embedded.value(one, f"spec.{field}")
    if lifecycle.refers_to(reference, kind, group):
        yield kind, lifecycle.namespace(one), str(reference["name"])


def _same_place(one: Object, other: Object) -> bool:
    return lifecycle.namespace(one) == lifecycle.namespace(other)
