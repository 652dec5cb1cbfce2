"""The resource requests of a peer pod's containers, recorded on the pod: the first pass removes them,
and a container that another webhook adds afterwards must be counted together with them in the second.

What a LimitRange gives to containers that others add is not counted: when they come before us it is not
there yet, and the size of a machine must not depend on who is called first. What it gives to the pod's own
containers is there before any webhook is called, and counts.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

import msgspec

from vestibule.api import annotation_keys
from vestibule.injection.sandbox import quantities

PARTS: Final = ("requests", "limits")
Json = Mapping[str, Any]
_GIVEN: Final = re.compile(r"(.+) (request|limit) for (?:init )?container (\S+)")


class OriginalRequests(msgspec.Struct, frozen=True, omit_defaults=True):
    """By container and resource, the larger of request and limit, as it was written."""

    containers: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    pod: dict[str, str] = msgspec.field(default_factory=dict)
    """``spec.resources``."""
    own: tuple[str, ...] = ()
    """Resources whose size the pod itself, or a rule, had set already."""

    def text(self) -> str:
        """The value of the annotation; ``read`` decodes it."""
        return msgspec.json.encode(self, order="sorted").decode()


def read(annotations: Mapping[str, str]) -> OriginalRequests | None:
    """What is recorded on a pod; None if there is nothing readable."""
    try:
        return msgspec.json.decode(
            annotations.get(annotation_keys.ORIGINAL_REQUESTS, ""), type=OriginalRequests
        )
    except msgspec.MsgspecError:
        return None


def gather(
    spec: Json, resources: tuple[str, ...], annotations: Mapping[str, str], recorded: OriginalRequests | None
) -> OriginalRequests:
    """What all containers ask for, those of an earlier pass included."""
    given = (
        frozenset(_given(annotations.get(annotation_keys.LIMIT_RANGER, "")))
        if recorded is not None
        else frozenset()
    )
    before = recorded or OriginalRequests()
    containers = {
        name: found
        for field in ("containers", "initContainers")
        for one in spec.get(field) or ()
        if (found := {**before.containers.get(name := name_of(one), {}), **_of(one, resources, given)})
    }
    return OriginalRequests(containers, {**before.pod, **_of(spec, resources, frozenset())}, before.own)


def name_of(container: Json) -> str:
    """Its name; the API server refuses a pod where one is missing, but after us."""
    return str(container.get("name", ""))


def _of(one: Json, resources: tuple[str, ...], given: frozenset[tuple[str, str, str]]) -> dict[str, str]:
    """The same of a container, or of the pod's own ``resources``."""
    has = one.get("resources")
    if not isinstance(has, dict):
        return {}
    name = name_of(one)
    requests, limits = (found if isinstance(found := has.get(part), dict) else _NOTHING for part in PARTS)
    needed: dict[str, str] = {}
    for resource in resources:
        request, limit = requests.get(resource), limits.get(resource)
        if given:
            request = None if (name, "requests", resource) in given else request
            limit = None if (name, "limits", resource) in given else limit
        if request is not None or limit is not None:
            larger = _larger(str(request)[: quantities.LONGEST + 1], str(limit)[: quantities.LONGEST + 1])
            if larger:
                needed[resource] = larger
    return needed


@functools.lru_cache(1024)
def _larger(request: str, limit: str) -> str:
    """The larger of two amounts as it is written; empty when neither is one."""
    written = max(request, limit, key=lambda one: quantities.amount(one) or _NONE)
    return written if (quantities.amount(written) or _NONE) > 0 else ""


_NONE: Final = Fraction()
_NOTHING: Final[Json] = {}


def _given(text: str) -> Iterator[tuple[str, str, str]]:
    """Container, part and resource that the API server's LimitRanger says it has set."""
    for sentence in text.removeprefix("LimitRanger plugin set: ").split("; "):
        match = _GIVEN.fullmatch(sentence)
        if match is not None:
            for resource in match[1].split(", "):
                yield match[3], f"{match[2]}s", resource
