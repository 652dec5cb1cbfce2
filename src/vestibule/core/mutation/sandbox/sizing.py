"""Peer pods: the virtual machine is somewhere else, so what the pod asks for becomes its size, and the node
is asked for nothing but a slot.

A container counts with the larger of request and limit; containers and sidecars add up, and an init container
counts together with the sidecars that run by then. Sizes that are already there are kept, so a second pass
over a pod to which a LimitRange has added defaults changes no size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

from vestibule.core.kinds import kata
from vestibule.core.mutation.sandbox import quantities

_GPU: Final = "nvidia.com/gpu"
_MIB: Final = 2**20
Container = Mapping[str, Any]


class Size(NamedTuple):
    """What a pod asks for."""

    cpu: Fraction
    memory: Fraction
    gpus: Fraction


def size(spec: Mapping[str, Any]) -> Size:
    """The size of a pod's machine."""
    pod = spec.get("resources") or {}
    return Size(*(_effective(spec, name, pod) for name in ("cpu", "memory", _GPU)))


def as_annotations(found: Size) -> dict[str, str]:
    """Sizes as annotations; nothing asked for, nothing said."""
    said = {
        kata.DEFAULT_VCPUS: quantities.ceiling(found.cpu),
        kata.DEFAULT_MEMORY: quantities.ceiling(found.memory / _MIB),
        kata.DEFAULT_GPUS: quantities.ceiling(found.gpus),
    }
    return {key: str(value) for key, value in said.items() if value > 0}


def stripped(container: Container, *, first: bool, zeroes: bool) -> dict[str, Any]:
    """The resources a container is left with."""
    wanted: dict[str, dict[str, str]] = {}
    if zeroes:
        wanted = {"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "0", "memory": "0"}}
    if first:
        for part in ("requests", "limits"):
            wanted.setdefault(part, {})[kata.VM_RESOURCE] = "1"
    return wanted


def _effective(spec: Mapping[str, Any], name: str, pod: Mapping[str, Any]) -> Fraction:
    limit = _of(pod, name)
    if limit:
        return limit
    inits = list(spec.get("initContainers") or ())
    running = sum((_of(one.get("resources"), name) for one in spec.get("containers") or ()), Fraction())
    sidecars = Fraction()
    highest = Fraction()
    for one in inits:
        own = _of(one.get("resources"), name)
        if one.get("restartPolicy") == "Always":
            sidecars += own
            highest = max(highest, sidecars)
        else:
            highest = max(highest, sidecars + own)
    return max(highest, running + sidecars)


def _of(resources: Any, name: str) -> Fraction:
    """The larger of request and limit."""
    found = resources if isinstance(resources, Mapping) else {}
    parts: Iterable[Any] = ((found.get(part) or {}).get(name) for part in ("requests", "limits"))
    return max(
        (quantities.amount(part) or Fraction() for part in parts if part is not None), default=Fraction()
    )
