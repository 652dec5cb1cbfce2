"""Writes the status of an object, once per look and only where it changed."""

from __future__ import annotations

from typing import Any

from vestibule.api.gvk import Kind
from vestibule.kube import api_requests
from vestibule.operator.fenced_client import FencedClient

Object = dict[str, Any]


async def write(writer: FencedClient, kind: Kind, obj: Object, status: Object) -> bool:
    """Lay these fields over the status; whether there was anything to write. Raises as FencedClient does,
    Conflict when somebody wrote since the object was read."""
    before = obj.get("status") or {}
    fresh = {key: value for key, value in status.items() if before.get(key) != value}
    if not fresh:
        return False
    meta = obj["metadata"]
    change = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": fresh}
    call = api_requests.merge_patch(kind, meta.get("namespace", ""), meta["name"], change, "status")
    await writer.send(call, kind, f"status of {kind.kind} {meta['name']}")
    return True
