"""Which embedded resource needs which: the order of creation, and of deletion.

A resource needs its owner and whatever else it refers to by name, if that is embedded beside it. References
by ARM id and to what is not embedded are not ours to order. The order is that of the list where nothing
speaks against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vestibule.aro import embedded
from vestibule.aro.embedded import Object, ResourceIdentity


class Edge(NamedTuple):
    """One resource needs another."""

    needing: ResourceIdentity
    needed: ResourceIdentity
    path: str
    """Where that is written."""


def edges(objects: Sequence[Object]) -> list[Edge]:
    """All needs between these resources."""
    by_name: dict[str, list[ResourceIdentity]] = {}
    for one in objects:
        identity = embedded.identity(one)
        by_name.setdefault(identity.name, []).append(identity)
    found: list[Edge] = []
    exported = _exported(objects)
    for one in objects:
        mine = embedded.identity(one)
        for path, name in _from_config(one.get("spec"), "spec"):
            source = exported.get(name)
            if source is not None and source != mine:
                found.append(Edge(mine, source, path))
        for path, reference in _references(one.get("spec"), "spec"):
            needed = _meant(reference, by_name.get(str(reference.get("name")), ()), mine)
            if needed is not None:
                found.append(Edge(mine, needed, path))
    return list(dict.fromkeys(found))


def ordered(objects: Sequence[Object]) -> list[Object]:
    """In the order of creation. In a circle, which Azure would refuse, the order of the list counts."""
    needs: dict[ResourceIdentity, set[ResourceIdentity]] = {}
    for edge in edges(objects):
        needs.setdefault(edge.needing, set()).add(edge.needed)
    left = list(objects)
    made: set[ResourceIdentity] = set()
    result: list[Object] = []
    while left:
        ready = next(
            (one for one in left if needs.get(embedded.identity(one), set()) <= made),
            left[0],
        )
        left.remove(ready)
        made.add(embedded.identity(ready))
        result.append(ready)
    return result


def _exported(objects: Sequence[Object]) -> dict[str, ResourceIdentity]:
    """ConfigMaps and Secrets into which resources write values for others, by name."""
    found: dict[str, ResourceIdentity] = {}
    for one in objects:
        for kind in ("configMaps", "secrets"):
            places = embedded.value(one, f"spec.operatorSpec.{kind}")
            for place in places.values() if isinstance(places, Mapping) else ():
                name = embedded.value(place, "name")
                if isinstance(name, str):
                    found[name] = embedded.identity(one)
    return found


def _from_config(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Values that are read from such a place: ``principalIdFromConfig`` and the like."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            where = f"{path}.{key}"
            name = embedded.value(inner, "name")
            if str(key).endswith("FromConfig") and isinstance(name, str):
                yield where, name
            else:
                yield from _from_config(inner, where)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _from_config(inner, f"{path}[{index}]")


def _references(value: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Everything that looks like a reference: ``owner``, and objects with ``name`` under a key that ends in
    ``Reference`` or ``reference``, or that names group and kind beside it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            where = f"{path}.{key}"
            if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
                named = key == "owner" or str(key).lower().endswith("reference")
                if named or ("group" in inner and "kind" in inner):
                    yield where, inner
            yield from _references(inner, where)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _references(inner, f"{path}[{index}]")


_OWNERS = {
    "VirtualNetworksSubnet": "VirtualNetwork",
    "HcpOpenShiftClustersNodePool": "HcpOpenShiftCluster",
    "HcpOpenShiftClustersExternalAuth": "HcpOpenShiftCluster",
}
"""Kinds whose owner is not a resource group."""


def _meant(
    reference: Mapping[str, Any], named: Sequence[ResourceIdentity], mine: ResourceIdentity
) -> ResourceIdentity | None:
    """Which of the resources of that name is meant. An owner may be given by name alone: its kind follows
    from the kind that is owned."""
    kind, group = reference.get("kind"), reference.get("group")
    if kind is None:
        kind = _OWNERS.get(mine.kind, "ResourceGroup")
    for one in named:
        if one != mine and one.kind == kind and (not group or one.group == group):
            return one
    return None
