"""From a decision about a sandbox to the operations of a patch."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from vestibule.admission import apply, pointer
from vestibule.injection.sandbox.result import SandboxResult

Operation = dict[str, Any]


def operations(pod: Mapping[str, Any], sandbox: SandboxResult) -> list[Operation]:
    """What to change in the pod; nothing when it is refused or as it should be."""
    if sandbox.refusal is not None:
        return []
    found: list[Operation] = []
    if sandbox.runtime_class:
        found.append(_add("/spec/runtimeClassName", sandbox.runtime_class))
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    for field, values in (("annotations", sandbox.annotations), ("labels", sandbox.labels)):
        if values and not isinstance(meta.get(field), Mapping):
            found.append(_add(f"/metadata/{field}", dict(values)))
        else:
            found += [
                _add(f"/metadata/{field}/{pointer.escape(key)}", value) for key, value in values.items()
            ]
    for field, desired in sandbox.resources.items():
        for position, (container, resources) in enumerate(zip(spec.get(field) or (), desired, strict=True)):
            has = container.get("resources")
            if (has or {}) != resources:
                path = f"/spec/{field}/{position}/resources"
                found.append(_add(path, dict(resources)) if resources else {"op": "remove", "path": path})
    if sandbox.drops_pod_resources:
        found.append({"op": "remove", "path": "/spec/resources"})
    return found


def _add(path: str, value: Any) -> Operation:
    return {"op": "add", "path": path, "value": value}


def applied(pod: Mapping[str, Any], sandbox: SandboxResult) -> dict[str, Any]:
    """The pod after the sandbox patch."""
    after: dict[str, Any] = copy.deepcopy(dict(pod))
    apply.patch(after, operations(pod, sandbox))
    return after
