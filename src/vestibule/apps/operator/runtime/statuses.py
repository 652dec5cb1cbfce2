"""Writes the status of an object, once per look and only where it changed."""

from __future__ import annotations

from typing import Any

from vestibule.adapters.cluster import calls
from vestibule.apps.operator.runtime.pen import Pen
from vestibule.core.kinds.gvk import Kind

Object = dict[str, Any]


async def write(pen: Pen, kind: Kind, obj: Object, status: Object) -> bool:
    """Lay these fields over the status; whether there was anything to write. Raises as the pen does,
    Conflict when somebody wrote since the object was read."""
    before = obj.get("status") or {}
    fresh = {key: value for key, value in status.items() if before.get(key) != value}
    if not fresh:
        return False
    meta = obj["metadata"]
    change = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": fresh}
    call = calls.merge_patch(kind, meta.get("namespace", ""), meta["name"], change, "status")
    await pen.send(call, kind, f"status of {kind.kind} {meta['name']}")
    return True
