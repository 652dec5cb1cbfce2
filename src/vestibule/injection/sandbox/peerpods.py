"""The third step: a peer pod's containers lose their resources, and its machine gets a size.

A size that an earlier pass has written grows with what was added since; one from another source is
preserved. So the source is recorded on the pod, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from vestibule.api import annotation_keys, kata
from vestibule.injection.sandbox import sizing
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy

Json = Mapping[str, Any]


class ResizedPod(NamedTuple):
    """What a peer pod gets."""

    annotations: Mapping[str, str]
    """Sizes, and what they follow from."""
    ours: frozenset[str]
    """Those that replace what is there, since an earlier pass has written it."""
    resources: Mapping[str, tuple[Json, ...]]
    """What containers are left with, by position; only where something changes."""


def resized(
    spec: Json, existing: Mapping[str, str], taken: frozenset[str], found: SandboxPolicy
) -> ResizedPod:
    """The size of the machine and what the node is still asked for; ``taken`` are keys that rules have
    written, ``existing`` annotations of the pod."""
    sized = sizing.sized(spec, existing, keep=not found.strict)
    own = {
        *sized.requests.own,
        *(
            resource
            for resource, key in sizing.KEYS.items()
            if key in taken or (key in existing and existing[key] != _wrote(key, sized, found))
        ),
    }
    annotations = dict(sized.annotations)
    ours = {key for resource, key in sizing.KEYS.items() if resource not in own}
    if not found.strict:
        annotations[annotation_keys.ORIGINAL_REQUESTS] = msgspec.structs.replace(
            sized.requests, own=tuple(sorted(own))
        ).text()
        ours.add(annotation_keys.ORIGINAL_REQUESTS)
    return ResizedPod(annotations, frozenset(ours), _left(spec, zeroes=found.zeroes))


def _wrote(key: str, sized: sizing.MachineSize, found: SandboxPolicy) -> str | None:
    """What an earlier pass has written: the size, or without one what the KataConfig says."""
    if sized.before is None:
        return None
    annotations = found.webhook.annotations or kata.KataAnnotations()
    typed = annotations.default_vcpus if key == kata.DEFAULT_VCPUS else None
    return sized.before.get(key, annotations.custom.get(key) if typed is None else str(typed))


def _left(spec: Json, *, zeroes: bool) -> dict[str, tuple[Json, ...]]:
    resources: dict[str, tuple[Json, ...]] = {}
    for field in ("containers", "initContainers"):
        containers = spec.get(field) or ()
        desired = tuple(
            sizing.stripped(first=field == "containers" and not position, zeroes=zeroes)
            for position in range(len(containers))
        )
        if desired != tuple((one.get("resources") or {}) for one in containers):
            resources[field] = desired
    return resources
