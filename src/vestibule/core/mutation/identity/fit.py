"""How the pieces fit one container: which clouds it takes, and what of them it still lacks."""

from __future__ import annotations

from vestibule.core.kinds import selectors
from vestibule.core.mutation import podview
from vestibule.core.mutation.identity import render
from vestibule.core.mutation.identity.levels import Note
from vestibule.core.mutation.rules import Rules


def overlaps(target: podview.Container, bundle: render.Bundle) -> bool:
    """Whether the container has a variable, volume or path that a plan uses too."""
    if target.env and not bundle.env_names.isdisjoint([variable.name for variable in target.env]):
        return True
    for mount in target.volume_mounts or ():
        if mount.name in bundle.mount_volumes or mount.mount_path.rstrip("/") in bundle.mount_paths:
            return True
    return False


def container(
    field: str,
    index: int,
    target: podview.Container,
    bundle: render.Bundle,
    rules: Rules,
    served: set[str],
    notes: list[Note],
) -> bytes:
    """The operations for a container that already has something of ours, or that a list names.

    Adds to ``served`` the clouds it takes and to ``notes`` what the user should know.
    """
    env = {variable.name: variable.value for variable in target.env or ()}
    volumes = {mount.name for mount in target.volume_mounts or ()}
    paths = {mount.mount_path.rstrip("/"): mount.name for mount in target.volume_mounts or ()}
    mounts_out: list[bytes] = []
    env_out: list[bytes] = []
    for part in bundle.parts:
        if rules.by_content:
            if not _selected(target.name, part) or not _free(target.name, env, paths, part, notes):
                continue
            mounts_out += [piece.json for piece in part.mounts if piece.mount.path not in paths]
        else:
            mounts_out += [piece.json for piece in part.mounts if piece.mount.volume not in volumes]
        env_out += [piece.json for piece in part.env if piece.env.name not in env]
        served.add(part.plan.provider)
    return render.operations(field, index, mounts_out, env_out, target)


def _selected(name: str, part: render.Pieces) -> bool:
    plan = part.plan
    if any(selectors.matches(glob, name) for glob in plan.skip):
        return False
    return not plan.include or any(selectors.matches(glob, name) for glob in plan.include)


def _free(
    name: str, env: dict[str, str | None], paths: dict[str, str], part: render.Pieces, notes: list[Note]
) -> bool:
    """Whether the container can take the whole plan; if not, why."""
    plan = part.plan
    own = [v for v in plan.env if v.role != "extra" and v.name in env and env[v.name] != v.value]
    listed = ", ".join(v.name for v in own)
    if any(v.role == "source" for v in own):
        notes.append(Note(f"container {name} sets {listed} itself: {plan.provider} identity left to it"))
        return False
    if own:
        notes.append(Note(f"container {name} sets {listed} itself: kept, and used with the injected token"))
    for mount in plan.mounts:
        taken = paths.get(mount.path)
        if taken is not None and taken != mount.volume:
            notes.append(
                Note(
                    f"container {name} mounts {taken} at {mount.path}: no {plan.provider} identity there",
                    blocking=True,
                    provider=plan.provider,
                )
            )
            return False
    stronger = [variable for variable in plan.stronger if variable in env]
    if stronger:
        notes.append(
            Note(f"container {name} sets {', '.join(stronger)}, which SDKs prefer over the injected identity")
        )
    return True
