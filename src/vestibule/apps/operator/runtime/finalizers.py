"""A finalizer holds an object until what was made for it is gone."""

from __future__ import annotations

from typing import Any

import msgspec

from vestibule.adapters.cluster import calls
from vestibule.apps.operator.runtime.pen import Pen
from vestibule.core.kinds.gvk import Kind

Object = dict[str, Any]


def held(obj: Object, finalizer: str) -> bool:
    """Whether the object waits for us."""
    return finalizer in (obj["metadata"].get("finalizers") or ())


def deleting(obj: Object) -> bool:
    """Whether somebody wants the object gone."""
    return bool(obj["metadata"].get("deletionTimestamp"))


async def hold(pen: Pen, kind: Kind, obj: Object, finalizer: str) -> Object:
    """Let the object wait for us; the object as it is then. Raises as the pen does, Conflict when somebody
    wrote in between."""
    if held(obj, finalizer):
        return obj
    return await _write(pen, kind, obj, [*(obj["metadata"].get("finalizers") or ()), finalizer])


async def release(pen: Pen, kind: Kind, obj: Object, finalizer: str) -> None:
    """Let the object go."""
    if held(obj, finalizer):
        others = [one for one in obj["metadata"]["finalizers"] if one != finalizer]
        await _write(pen, kind, obj, others)


async def _write(pen: Pen, kind: Kind, obj: Object, finalizers: list[str]) -> Object:
    meta = obj["metadata"]
    change = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": finalizers}}
    call = calls.merge_patch(kind, meta.get("namespace", ""), meta["name"], change)
    answer = await pen.send(call, kind, f"finalizer of {kind.kind} {meta['name']}")
    return msgspec.json.decode(answer.body, type=dict[str, Any])
