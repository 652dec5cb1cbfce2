"""The lists of a pod spec, decoded only when something is to be injected, and only the fields that decide.

``None`` means that the list is absent or null, which is not the same as empty: a patch must create the one
and append to the other.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from vestibule import errors
from vestibule.admission import review
from vestibule.api import annotation_keys


class EnvVar(msgspec.Struct, gc=False):
    """One environment entry; ``value`` is None where it comes from elsewhere."""

    name: str
    value: str | None = None


class VolumeMount(msgspec.Struct, gc=False, rename="camel"):
    """One mount."""

    name: str
    mount_path: str
    read_only: bool | None = None
    sub_path: str | None = None


class PodContainer(msgspec.Struct, gc=False, rename="camel"):
    """A container or init container."""

    name: str
    env: list[EnvVar] | None = None
    volume_mounts: list[VolumeMount] | None = None


class PodVolume(msgspec.Struct, gc=False):
    """A volume; its source is decoded only if the name is one of ours."""

    name: str


class PodView(msgspec.Struct, gc=False):
    """The three lists."""

    volumes: list[PodVolume] | None
    containers: list[PodContainer]
    init_containers: list[PodContainer] | None


_volumes = msgspec.json.Decoder(list[PodVolume] | None).decode
_containers = msgspec.json.Decoder(list[PodContainer] | None).decode


def view(spec: review.PodSpec) -> PodView:
    """Decode the lists; raises MalformedReview (422) when one has the wrong shape."""
    field = "spec.volumes"
    try:
        volumes = None if spec.volumes is review.ABSENT else _volumes(spec.volumes)
        field = "spec.containers"
        containers = None if spec.containers is review.ABSENT else _containers(spec.containers)
        field = "spec.initContainers"
        inits = None if spec.init_containers is review.ABSENT else _containers(spec.init_containers)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise errors.MalformedReview(422, str(error), f"request.object.{field}") from error
    return PodView(volumes, containers or [], inits)


def raw_list(raw: msgspec.Raw) -> list[dict[str, object]]:
    """A list in full, for the rare case that contents must be compared."""
    return [] if raw is review.ABSENT else msgspec.json.decode(raw, type=list[dict[str, object]] | None) or []


def is_windows(spec: review.PodSpec, by: Literal["all", "selector", "never"] = "all") -> bool:
    """Whether the pod runs on Windows: it says so itself, or its node selector does."""
    if by == "never":
        return False
    if by == "all" and spec.os is not None and spec.os.name:
        return spec.os.name == "windows"
    selector = spec.node_selector
    return selector is not None and "windows" in (
        selector.get(annotation_keys.OS_LABEL),
        selector.get(annotation_keys.OS_LABEL_BETA),
    )
