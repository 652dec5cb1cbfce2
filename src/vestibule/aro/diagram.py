"""The resources of a cluster as a picture: who carries what, what needs what. Mermaid, or SVG by itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from vestibule.aro import embedded, graph, manifest_plan
from vestibule.aro.crossrefs import ClusterManifests
from vestibule.aro.embedded import Object, ResourceIdentity

_WIDTH: Final = 250
_HEIGHT: Final = 46
_GAP: Final = (70, 22)
_MARGIN: Final = 30


class Diagram(NamedTuple):
    """Boxes in columns, and lines between them."""

    groups: tuple[tuple[str, tuple[ResourceIdentity, ...]], ...]
    edges: tuple[graph.Edge, ...]


def picture(families: Sequence[ClusterManifests]) -> Diagram:
    """Of all clusters together."""
    groups: list[tuple[str, tuple[ResourceIdentity, ...]]] = []
    objects: list[Object] = []
    for family in families:
        owners = [family.infrastructure, family.control_plane, *(pool.aro for pool in family.pools)]
        for owner in owners:
            if owner is not None:
                resources = family.resources(owner)
                label = f"{owner['kind']} {owner['metadata']['name']}"
                groups.append((label, tuple(map(embedded.identity, resources))))
        objects += manifest_plan.everything(family)
    return Diagram(tuple(groups), tuple(_implied(families)) + tuple(graph.edges(objects)))


def _implied(families: Sequence[ClusterManifests]) -> list[graph.Edge]:
    """Pools and sign-in belong to their cluster, also where the user leaves that out."""
    found = []
    for family in families:
        hcp = family.hcp
        if hcp is None:
            continue
        for one in manifest_plan.everything(family):
            identity = embedded.identity(one)
            child = identity.group == embedded.of(hcp).group and identity != embedded.identity(hcp)
            if child and embedded.value(one, "spec.owner") is None:
                found.append(graph.Edge(identity, embedded.identity(hcp), "spec.owner"))
    return found


def mermaid(shown: Diagram) -> str:
    """A flowchart, as Markdown viewers draw it."""
    ids = {
        identity: f"n{number}"
        for number, identity in enumerate(one for _, members in shown.groups for one in members)
    }
    lines = ["flowchart LR"]
    for number, (label, members) in enumerate(shown.groups):
        lines.append(f'  subgraph g{number}["{_quoted(label)}"]')
        lines += [f'    {ids[one]}["{_quoted(one.kind)}<br/>{_quoted(one.name)}"]' for one in members]
        lines.append("  end")
    for edge in shown.edges:
        if edge.needing in ids and edge.needed in ids:
            arrow = "-->" if edge.path == "spec.owner" else "-.->"
            lines.append(f"  {ids[edge.needed]} {arrow} {ids[edge.needing]}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace('"', "#quot;").replace("<", "&lt;")


def svg(shown: Diagram) -> str:
    """One drawing: a column per step of need, boxes by name."""
    columns = _columns(shown)
    places: dict[ResourceIdentity, tuple[int, int]] = {}
    for across, members in enumerate(columns):
        for down, one in enumerate(members):
            places[one] = (
                _MARGIN + across * (_WIDTH + _GAP[0]),
                _MARGIN + down * (_HEIGHT + _GAP[1]),
            )
    width = _MARGIN * 2 + len(columns) * (_WIDTH + _GAP[0]) - _GAP[0]
    height = _MARGIN * 2 + max((len(members) for members in columns), default=1) * (_HEIGHT + _GAP[1])
    owners = {one: label for label, members in shown.groups for one in members}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(width, 1)}" height="{height}" '
        f'viewBox="0 0 {max(width, 1)} {height}" font-family="sans-serif" font-size="12">',
        '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    parts += [_line(edge, places) for edge in shown.edges if {edge.needing, edge.needed} <= places.keys()]
    parts += [_box(one, owners[one], *place) for one, place in places.items()]
    return "\n".join([*parts, "</svg>", ""])


def _columns(shown: Diagram) -> list[list[ResourceIdentity]]:
    """Each box stands right of all that it needs."""
    members = list(dict.fromkeys(one for _, listed in shown.groups for one in listed))
    needs = {one: {edge.needed for edge in shown.edges if edge.needing == one} for one in members}
    depth = dict.fromkeys(members, 0)
    for _ in members:  # as often as a chain can be long; a circle ends here, too
        for one in members:
            depth[one] = max([0, *(depth[each] + 1 for each in needs[one] if each in depth)])
            depth[one] = min(depth[one], len(members))
    levels = sorted(set(depth.values()))
    return [[one for one in members if depth[one] == level] for level in levels]


def _line(edge: graph.Edge, places: dict[ResourceIdentity, tuple[int, int]]) -> str:
    (left, top), (right, bottom) = places[edge.needed], places[edge.needing]
    x1, y1, x2, y2 = left + _WIDTH, top + _HEIGHT // 2, right, bottom + _HEIGHT // 2
    dash = "" if edge.path == "spec.owner" else ' stroke-dasharray="4 3"'
    middle = (x1 + x2) // 2
    return (
        f'<path d="M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}" fill="none" stroke="#667"{dash} '
        f'marker-end="url(#a)"><title>{escape(f"{edge.needing}: {edge.path}")}</title></path>'
    )


_COLOURS: Final = {"AROCluster": "#e8f1fb", "AROControlPlane": "#fdeee3", "AROMachinePool": "#e9f7ec"}


def _box(one: ResourceIdentity, owner: str, x: int, y: int) -> str:
    fill = _COLOURS.get(owner.partition(" ")[0], "#f2f2f2")
    return (
        f"<g><title>{escape(f'{one.group} {one}, carried by {owner}')}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="{fill}" stroke="#99a"/>'
        f'<text x="{x + 10}" y="{y + 19}" fill="#556">{escape(one.kind)}</text>'
        f'<text x="{x + 10}" y="{y + 36}" font-weight="bold">{escape(one.name)}</text></g>'
    )
