"""The parts of a pod that a sandbox follows from, and nothing else: most of a review is probes, variables and
``managedFields``, and what is not decoded costs next to nothing.

A field that decisions are to look at must be named here; every vector runs over a whole pod and over these
parts, and both must come out the same.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict

import msgspec

from vestibule import errors
from vestibule.admission import apply

Json = dict[str, Any]
_SHALLOW: Final = 3
"""Steps of the path ``/spec/containers/0``; what goes deeper is inside a container."""


class _SandboxContainer(TypedDict, total=False):
    name: str
    resources: Any
    restartPolicy: str | None


class _SandboxMeta(TypedDict, total=False):
    annotations: dict[str, str] | None
    labels: dict[str, str] | None
    ownerReferences: list[Json] | None


class _SandboxSpec(TypedDict, total=False):
    runtimeClassName: str | None
    hostNetwork: bool | None
    os: Json | None
    nodeSelector: dict[str, str] | None
    resources: Any
    containers: list[_SandboxContainer] | None
    initContainers: list[_SandboxContainer] | None


class _SandboxPod(TypedDict, total=False):
    metadata: _SandboxMeta
    spec: _SandboxSpec


class _SandboxRequest(msgspec.Struct):
    object: _SandboxPod


class _SandboxReview(msgspec.Struct):
    request: _SandboxRequest


_decode = msgspec.json.Decoder(_SandboxReview).decode
_operations = msgspec.json.Decoder(list[Json]).decode


def of(body: bytes, patch: bytes) -> Json:
    """The parts of the pod in a review, with a patch applied as far as it concerns them.

    Raises MalformedReview (422) when one has the wrong shape.
    """
    try:
        found: Any = _decode(body).request.object
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise errors.MalformedReview(422, str(error), "request.object") from error
    if patch:
        apply.patch(found, [one for one in _operations(patch) if _concerns(one["path"])])
    pod: Json = found
    return pod


def _concerns(path: str) -> bool:
    """Whether an operation changes what is decoded: metadata, or a container as a whole."""
    if path.startswith("/metadata/"):
        return True
    return path.startswith(("/spec/containers", "/spec/initContainers")) and path.count("/") <= _SHALLOW
