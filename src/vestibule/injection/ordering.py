"""Where volumes and containers of ours sit among the user's, and what happens to one that sits there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from vestibule.admission import patch, review
from vestibule.injection import fragments, podview
from vestibule.injection.compat_rules import CompatRules
from vestibule.injection.plan import Field


def volumes(
    bundle: fragments.FragmentBundle, pod: review.Pod, view: podview.PodView, rules: CompatRules
) -> bytes:
    """Operations on the pod's volumes."""
    present = [volume.name for volume in view.volumes or ()]
    exists = view.volumes is not None
    if not present or (not bundle.token_paths and bundle.volumes.keys().isdisjoint(present)):
        return bundle.volume_operations(exists=exists)
    raw = podview.raw_list(pod.spec.volumes)
    named = _by_name(raw)
    projected = {path for volume in raw for path in _token_paths(volume)}
    added: list[fragments.VolumeFragment] = []
    replaced: list[bytes] = []
    for name, piece in bundle.volumes.items():
        position, current = named.get(name, (-1, None))
        if not rules.by_content and piece.volume.when == "token":
            if bundle.token_paths[name] not in projected:
                added.append(piece)
        elif current is None:
            added.append(piece)
        elif (
            not rules.by_content
            and piece.volume.when == "replace"
            and not covers(current, piece.volume.body())
        ):
            replaced.append(patch.operation(f"/spec/volumes/{position}", piece.json, "replace"))
    return patch.sequence((*replaced, fragments.add_volumes(added, exists=exists)))


class ContainerOperations(NamedTuple):
    """Operations that insert our containers: those that move no other container, then the others, which
    must come after all operations on the pod's own containers."""

    appended: bytes = b""
    inserted: bytes = b""


def helpers(
    bundle: fragments.FragmentBundle, pod: review.Pod, view: podview.PodView, rules: CompatRules
) -> ContainerOperations:
    """The positions of our containers."""
    names = {
        "containers": {container.name for container in view.containers},
        "initContainers": {container.name for container in view.init_containers or ()},
    }
    if rules.by_content:  # names are unique over all containers of a pod
        names = dict.fromkeys(names, names["containers"] | names["initContainers"])
    inits = _ordered("initContainers", bundle, pod, names["initContainers"], rules)
    others = _ordered("containers", bundle, pod, names["containers"], rules)
    return ContainerOperations(
        patch.sequence((inits.appended, others.appended)), patch.sequence((inits.inserted, others.inserted))
    )


def _ordered(
    field: Field, bundle: fragments.FragmentBundle, pod: review.Pod, present: set[str], rules: CompatRules
) -> ContainerOperations:
    raw = pod.spec.containers if field == "containers" else pod.spec.init_containers
    exists = raw is not review.ABSENT and bytes(raw) != b"null"
    path = f"/spec/{field}"
    replaced: list[bytes] = []
    first: list[bytes] = []
    last: list[bytes] = []
    for name, (helper, json) in bundle.helpers.items():
        if helper.field != field:
            continue
        if name not in present:
            (last if helper.position == "last" else first).append(json)
        elif helper.position == "replace" and not rules.by_content:
            position, current = _by_name(podview.raw_list(raw))[name]
            if not covers(current, helper.body):
                replaced.append(patch.operation(f"{path}/{position}", json, "replace"))
    if exists:
        inserted = patch.sequence((*replaced, patch.insertions(path, first, exists=True)))
        return ContainerOperations(patch.additions(path, last, exists=True), inserted)
    if first:
        return ContainerOperations(inserted=patch.additions(path, [*first, *last], exists=False))
    return ContainerOperations(patch.additions(path, last, exists=False))


def covers(found: object, desired: object) -> bool:
    """Whether everything wanted is there; the API server's defaults may be there too."""
    if isinstance(desired, Mapping):
        return isinstance(found, dict) and all(
            key in found and covers(found[key], value) for key, value in desired.items()
        )
    if isinstance(desired, list | tuple):
        return isinstance(found, list) and len(found) == len(desired) and all(map(covers, found, desired))
    return found == desired


def _by_name(raw: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, Mapping[str, Any]]]:
    """Position and value by name; the first of a name counts."""
    found: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for position, item in enumerate(raw):
        found.setdefault(str(item.get("name")), (position, item))
    return found


def _token_paths(volume: Mapping[str, Any]) -> list[str]:
    """The files to which a volume projects tokens."""
    projected = volume.get("projected")
    sources = projected.get("sources") if isinstance(projected, dict) else None
    tokens = [source.get("serviceAccountToken") for source in sources or () if isinstance(source, dict)]
    return [str(token.get("path")) for token in tokens if isinstance(token, dict)]
