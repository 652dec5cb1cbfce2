"""Peer pods: the virtual machine is somewhere else, so what the pod asks for becomes its size, and the node
requests nothing but a slot.

A container counts with the larger of request and limit; containers and sidecars add up, and an init container
counts together with the sidecars that run by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from vestibule.api import kata
from vestibule.injection.sandbox import original_requests, quantities
from vestibule.injection.sandbox.original_requests import OriginalRequests

_GPU: Final = "nvidia.com/gpu"
_MIB: Final = 2**20
KEYS: Final = {"cpu": kata.DEFAULT_VCPUS, "memory": kata.DEFAULT_MEMORY, _GPU: kata.DEFAULT_GPUS}
"""Resources that make the size of a machine, and the annotations that say it."""
RESOURCES: Final = tuple(KEYS)
Container = Mapping[str, Any]


class MachineSize(NamedTuple):
    """The size of a pod's machine, and what it follows from."""

    annotations: Mapping[str, str]
    """Sizes; nothing requested, nothing reported."""
    requests: OriginalRequests
    before: Mapping[str, str] | None
    """The sizes of the earlier pass alone; None when there was none."""


def sized(spec: Mapping[str, Any], annotations: Mapping[str, str], *, keep: bool) -> MachineSize:
    """The size of a pod's machine; ``keep``: with what an earlier pass recorded on the pod."""
    recorded = original_requests.read(annotations) if keep else None
    found = original_requests.gather(spec, RESOURCES, annotations, recorded)
    return MachineSize(
        _annotations(spec, found), found, None if recorded is None else _annotations(spec, recorded)
    )


def stripped(*, first: bool, zeroes: bool) -> dict[str, Any]:
    """The resources a container is left with."""
    desired: dict[str, dict[str, str]] = {}
    if zeroes:
        desired = {"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "0", "memory": "0"}}
    if first:
        for part in original_requests.PARTS:
            desired.setdefault(part, {})[kata.VM_RESOURCE] = "1"
    return desired


def _annotations(spec: Mapping[str, Any], found: OriginalRequests) -> dict[str, str]:
    values = {
        key: quantities.ceiling(_effective(spec, resource, found) / (_MIB if resource == "memory" else 1))
        for resource, key in KEYS.items()
    }
    return {key: str(value) for key, value in values.items() if value > 0}


def _effective(spec: Mapping[str, Any], resource: str, found: OriginalRequests) -> Fraction:
    limit = quantities.amount(found.pod.get(resource, ""))
    if limit:
        return limit

    def of(container: Container) -> Fraction:
        written = found.containers.get(original_requests.name_of(container), _NOTHING).get(resource, "")
        return quantities.amount(written) or _NONE

    running = sum(filter(None, map(of, spec.get("containers") or ())), _NONE)
    if not spec.get("initContainers"):
        return running
    sidecars = highest = _NONE
    for one in spec.get("initContainers") or ():
        if one.get("restartPolicy") == "Always":
            sidecars += of(one)
            highest = max(highest, sidecars)
        else:
            highest = max(highest, sidecars + of(one))
    return max(highest, running + sidecars)


_NONE: Final = Fraction()
_NOTHING: Final[dict[str, str]] = {}
