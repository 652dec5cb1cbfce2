"""Plans as ready JSON pieces, encoded once per set of plans and used for every pod that gets them.

The common container shares no name and no path with what we add; for it the operations are joined once and
cached.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from vestibule.admission import patch
from vestibule.api import annotation_keys, glob_patterns
from vestibule.injection import podview
from vestibule.injection.plan import (
    CloudPlanForPod,
    PlannedContainer,
    PlannedEnv,
    PlannedMount,
    PlannedVolume,
)

_position = operator.itemgetter(0)
_SELECTIONS: Final = 4
"""Cached parts of a bundle; a pod for which some clouds are left out is rare."""
_CACHED_POSITIONS: Final = 16
"""Containers beyond this position are rare; their operations are not cached, so that memory stays bounded."""


class EnvFragment(NamedTuple):
    """A variable and its JSON."""

    env: PlannedEnv
    json: bytes


class MountFragment(NamedTuple):
    """A mount and its JSON."""

    mount: PlannedMount
    json: bytes


class VolumeFragment(NamedTuple):
    """A volume and its JSON."""

    volume: PlannedVolume
    json: bytes


class ContainerFragment(NamedTuple):
    """A container of ours and its JSON."""

    helper: PlannedContainer
    json: bytes


class ContainerNames:
    """Container names, some with ``*``: exact ones are looked up, only globs are tried one by one."""

    __slots__ = ("_exact", "_globs")

    def __init__(self, names: Iterable[str]) -> None:
        self._exact = frozenset(name for name in names if "*" not in name)
        self._globs = tuple(dict.fromkeys(name for name in names if "*" in name))

    @property
    def one(self) -> str:
        """The name, where there is one and it is no glob; else empty."""
        return next(iter(self._exact)) if len(self._exact) == 1 and not self._globs else ""

    def __bool__(self) -> bool:
        return bool(self._exact or self._globs)

    def __contains__(self, name: str) -> bool:
        return name in self._exact or any(glob_patterns.matches(glob, name) for glob in self._globs)

    def unmatched(self, present: Collection[str]) -> Iterator[str]:
        """Those that fit none of the names that are there."""
        yield from sorted(self._exact.difference(present))
        for glob in self._globs:
            if not any(glob_patterns.matches(glob, name) for name in present):
                yield glob


class PlanFragments(NamedTuple):
    """One plan in pieces."""

    plan: CloudPlanForPod
    mounts: tuple[MountFragment, ...]
    env: tuple[EnvFragment, ...]
    include: ContainerNames
    skip: ContainerNames

    def selects(self, container: str) -> bool:
        """Whether the plan is for this container."""
        return container not in self.skip and (not self.include or container in self.include)


def pieces(plan: CloudPlanForPod) -> PlanFragments:
    """Render what goes into containers."""
    return PlanFragments(
        plan,
        tuple(MountFragment(mount, patch.render(mount.body())) for mount in plan.mounts),
        tuple(EnvFragment(env, patch.render(env.body())) for env in plan.env),
        ContainerNames(plan.include),
        ContainerNames(plan.skip),
    )


Shape = tuple[bool | int, ...]
"""Which lists a pod has: annotations, volumes, then two for each container; before those of init containers
a number below zero for the number of containers."""


class FragmentBundle:
    """All plans of a pod, in planning order."""

    __slots__ = (
        "_annotations",
        "_general",
        "_ops",
        "_own",
        "_selections",
        "_volumes",
        "annotations",
        "env_names",
        "filtered",
        "has_config_maps",
        "helpers",
        "inits",
        "labels",
        "marked",
        "mount_paths",
        "mount_volumes",
        "parts",
        "plain",
        "providers",
        "shapes",
        "token_paths",
        "volumes",
    )

    def __init__(self, parts: Sequence[PlanFragments]) -> None:
        self.parts = tuple(parts)
        self._selections: dict[tuple[int, ...], FragmentBundle] = {}
        self._general: list[tuple[int, PlanFragments]] = []
        self._own: dict[str, list[tuple[int, PlanFragments]]] = {}
        for position, part in enumerate(parts):
            # a plan for one container is found by its name: work must not grow with containers times plans
            own = part.include.one
            (self._own.setdefault(own, []) if own else self._general).append((position, part))
        self.providers = tuple(dict.fromkeys(part.plan.provider for part in parts))
        self.volumes: dict[str, VolumeFragment] = {}
        for part in parts:
            for volume in part.plan.volumes:
                if volume.name not in self.volumes:
                    self.volumes[volume.name] = VolumeFragment(volume, patch.render(volume.body()))
        self.token_paths = {
            name: path for name, (volume, _) in self.volumes.items() if (path := _token_path(volume))
        }
        ordered = sorted(
            (helper for part in parts for helper in part.plan.helpers), key=lambda helper: helper.order
        )
        self.helpers = {
            helper.name: ContainerFragment(helper, patch.render(helper.body)) for helper in ordered
        }
        self.env_names = frozenset(
            name for part in parts for name in (*(piece.env.name for piece in part.env), *part.plan.stronger)
        )
        self.mount_volumes = frozenset(piece.mount.volume for part in parts for piece in part.mounts)
        self.mount_paths = frozenset(piece.mount.path for part in parts for piece in part.mounts)
        self.filtered = any(part.plan.include or part.plan.skip for part in parts)
        self.annotations = {key: value for part in parts for key, value in part.plan.annotations}
        self.labels = {key: value for part in parts for key, value in part.plan.labels}
        self.marked = sorted({part.plan.provider for part in parts if part.plan.marker})
        if self.marked or not parts:
            self.annotations[annotation_keys.INJECTED] = ",".join(self.marked)
        self._ops: dict[tuple[str, int, bool, bool], bytes] = {}
        self._annotations = {
            exists: patch.annotate(self.annotations, exists=exists) for exists in (False, True)
        }
        self._volumes = {
            exists: add_volumes([*self.volumes.values()], exists=exists) for exists in (False, True)
        }
        takers = sum(part.plan.init_containers for part in parts)
        self.inits = takers > 0
        """Whether init containers get anything."""
        self.plain = not (self.filtered or self.helpers or self.labels or self.token_paths) and takers in (
            0,
            len(parts),
        )
        """Whether every container that has nothing of ours gets the same."""
        self.shapes: dict[Shape, patch.Patch] = {}
        """Patches of pods in which nothing is ours, by the lists that they have."""
        self.has_config_maps = any(part.plan.config_map is not None for part in parts)

    def only(self, positions: Sequence[int]) -> FragmentBundle:
        """Some of the plans, by position."""
        key = tuple(positions)
        found = self._selections.get(key)
        if found is None:
            found = FragmentBundle([self.parts[position] for position in key])
            if len(self._selections) < _SELECTIONS:
                self._selections[key] = found
        return found

    def candidates(self, container: str) -> Iterable[tuple[int, PlanFragments]]:
        """The plans that may be for this container, with their positions, in order."""
        own = self._own.get(container)
        return self._general if own is None else sorted((*self._general, *own), key=_position)

    def volume_operations(self, *, exists: bool) -> bytes:
        """Operations that add all volumes to a pod that has none of them."""
        return self._volumes[exists]

    def annotation_operations(self, *, exists: bool) -> bytes:
        """Operations that set all annotations."""
        return self._annotations[exists]

    def container(self, field: str, index: int, target: podview.PodContainer) -> bytes:
        """Operations that give one container everything."""
        key = (field, index, target.volume_mounts is not None, target.env is not None)
        ops = self._ops.get(key)
        if ops is None:
            mounts = [piece.json for part in self.parts for piece in part.mounts]
            env = [piece.json for part in self.parts for piece in part.env]
            ops = operations(field, index, mounts, env, target)
            if index < _CACHED_POSITIONS:
                self._ops[key] = ops
        return ops


def add_volumes(pieces: Sequence[VolumeFragment], *, exists: bool) -> bytes:
    """Operations that add these volumes."""
    last = [json for volume, json in pieces if not volume.first]
    first = [json for volume, json in pieces if volume.first]
    if not exists:
        return patch.additions(_VOLUMES, [*first, *last], exists=False)
    return patch.sequence(
        (patch.additions(_VOLUMES, last, exists=True), patch.insertions(_VOLUMES, first, exists=True))
    )


_VOLUMES: Final = "/spec/volumes"


def _token_path(volume: PlannedVolume) -> str:
    """The file of the token, where that decides whether the volume is added."""
    if volume.when != "token":
        return ""
    sources = volume.source["projected"]["sources"]
    return str(next(source["serviceAccountToken"]["path"] for source in sources))


def operations(
    field: str, index: int, mounts: Iterable[bytes], env: Iterable[bytes], target: podview.PodContainer
) -> bytes:
    """Operations on one container: mounts, then environment."""
    base = f"/spec/{field}/{index}"
    parts = (
        patch.additions(f"{base}/volumeMounts", mounts, exists=target.volume_mounts is not None),
        patch.additions(f"{base}/env", env, exists=target.env is not None),
    )
    return b",".join([part for part in parts if part])
