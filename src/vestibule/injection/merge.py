"""How the pieces fit one container: which clouds it takes, and what of them it still lacks."""

from __future__ import annotations

from vestibule.admission import patch, review
from vestibule.injection import fragments, layouts, podview
from vestibule.injection.compat_rules import CompatRules
from vestibule.injection.plan import Field, PlannedMount
from vestibule.injection.precedence import LevelNote


def shape(pod: review.Pod, view: podview.PodView, bundle: fragments.FragmentBundle) -> fragments.Shape | None:
    """What a patch for a pod follows from in which nothing is ours; None where something may be."""
    annotations = pod.metadata.annotations
    if annotations and not bundle.annotations.keys().isdisjoint(annotations):
        return None
    volumes = bundle.volumes
    for volume in view.volumes or ():
        if volume.name in volumes:
            return None
    found: list[bool | int] = [annotations is None, view.volumes is None]
    for container in view.containers:
        if overlaps(container, bundle):
            return None
        found += (container.env is None, container.volume_mounts is None)
    if view.init_containers and bundle.inits:
        found.append(-1 - len(view.containers))
        for container in view.init_containers:
            if container.name in layouts.HELPERS or overlaps(container, bundle):
                return None
            found += (container.env is None, container.volume_mounts is None)
    return tuple(found)


def overlaps(target: podview.PodContainer, bundle: fragments.FragmentBundle) -> bool:
    """Whether the container has a variable, volume or path that a plan uses too."""
    if target.env:
        names = bundle.env_names
        for variable in target.env:
            if variable.name in names:
                return True
    if target.volume_mounts:
        volumes, paths = bundle.mount_volumes, bundle.mount_paths
        for mount in target.volume_mounts:
            if mount.name in volumes or mount.mount_path.rstrip("/") in paths:
                return True
    return False


def container(
    field: Field,
    index: int,
    target: podview.PodContainer,
    bundle: fragments.FragmentBundle,
    rules: CompatRules,
    served: set[int],
    notes: list[LevelNote],
) -> bytes:
    """The operations for a container that already has something of ours, or that a list names.

    Adds to ``served`` the positions of the plans it takes and to ``notes`` what the user should know.
    """
    found = _ExistingParts(target)
    mounts: list[bytes] = []
    env: list[bytes] = []
    replaced: list[bytes] = []
    base = f"/spec/{field}/{index}"
    for position, part in bundle.candidates(target.name):
        if (field == "initContainers" and not part.plan.init_containers) or not part.selects(target.name):
            continue
        if rules.by_content:
            if not _free(target.name, found, part, notes):
                continue
            mounts += [piece.json for piece in part.mounts if piece.mount.path not in found.paths]
            env += [_with_own_value(piece, found) for piece in part.env if piece.env.name not in found.env]
        else:
            _match(base, found, part, mounts, env, replaced)
        served.add(position)
    return patch.sequence((*replaced, fragments.operations(field, index, mounts, env, target)))


class _ExistingParts:
    """What a container has, by name."""

    def __init__(self, target: podview.PodContainer) -> None:
        self.env: dict[str, podview.EnvVar] = {}
        self.positions: dict[str, int] = {}
        for position, variable in enumerate(target.env or ()):
            self.positions.setdefault(variable.name, position)
            self.env[variable.name] = variable
        self.mounts: dict[str, tuple[int, podview.VolumeMount]] = {}
        self.paths: dict[str, str] = {}
        for position, mount in enumerate(target.volume_mounts or ()):
            self.mounts.setdefault(mount.name, (position, mount))
            self.paths[mount.mount_path.rstrip("/")] = mount.name


def _with_own_value(piece: fragments.EnvFragment, found: _ExistingParts) -> bytes:
    """The variable, with the container's own word where it says the same by another name."""
    twin = found.env.get(piece.env.twin)
    if twin is None or not twin.value:
        return piece.json
    return patch.render(piece.env._replace(value=twin.value).body())


def _match(
    base: str,
    found: _ExistingParts,
    part: fragments.PlanFragments,
    mounts: list[bytes],
    env: list[bytes],
    replaced: list[bytes],
) -> None:
    """What an original would add to a container or change in it, piece by piece and by name."""
    plan = part.plan
    if plan.finished and not any(names.isdisjoint(found.env) for names in plan.finished):
        return
    for mount, json in part.mounts:
        position, current = found.mounts.get(mount.volume, (-1, None))
        if current is None:
            mounts.append(json)
        elif mount.when == "replace" and not _same_mount(current, mount):
            replaced.append(patch.operation(f"{base}/volumeMounts/{position}", json, "replace"))
    taken = {variable.group for variable in plan.env if variable.name in found.env}
    for variable, json in part.env:
        if variable.name not in found.env:
            if variable.when != "group" or variable.group not in taken:
                env.append(json)
        elif variable.when == "replace" and found.env[variable.name].value != variable.value:
            replaced.append(patch.operation(f"{base}/env/{found.positions[variable.name]}", json, "replace"))


def _same_mount(current: podview.VolumeMount, mount: PlannedMount) -> bool:
    return (
        current.mount_path == mount.path
        and bool(current.read_only) == mount.read_only
        and not current.sub_path
    )


def _free(name: str, found: _ExistingParts, part: fragments.PlanFragments, notes: list[LevelNote]) -> bool:
    """Whether the container can take the whole plan; if not, why."""
    plan = part.plan
    own = [
        v
        for v in plan.env
        if v.role != "extra" and v.name in found.env and found.env[v.name].value != v.value
    ]
    listed = ", ".join(v.name for v in own)
    if any(v.role == "source" for v in own):
        notes.append(LevelNote(f"container {name} sets {listed} itself: {plan.provider} identity left to it"))
        return False
    if own:
        notes.append(
            LevelNote(f"container {name} sets {listed} itself: kept, and used with the injected token")
        )
    for mount in plan.mounts:
        taken = found.paths.get(mount.path)
        if taken is not None and taken != mount.volume:
            notes.append(
                LevelNote(
                    f"container {name} mounts {taken} at {mount.path}: no {plan.provider} identity there",
                    blocking=True,
                    provider=plan.provider,
                )
            )
            return False
    stronger = [variable for variable in plan.stronger if variable in found.env]
    if stronger:
        notes.append(
            LevelNote(
                f"container {name} sets {', '.join(stronger)}, which SDKs prefer over the injected identity"
            )
        )
    return True
