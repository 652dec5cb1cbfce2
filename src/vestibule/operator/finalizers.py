"""A finalizer holds an object until what was made for it is gone."""

from __future__ import annotations

from typing import Any

import msgspec

from vestibule.api.gvk import Kind
from vestibule.kube import api_requests
from vestibule.operator.fenced_client import FencedClient

Object = dict[str, Any]


def held(obj: Object, finalizer: str) -> bool:
    """Whether the object waits for us."""
    return finalizer in (obj["metadata"].get("finalizers") or ())


def deleting(obj: Object) -> bool:
    """Whether somebody wants the object gone."""
    return bool(obj["metadata"].get("deletionTimestamp"))


async def hold(writer: FencedClient, kind: Kind, obj: Object, finalizer: str) -> Object:
    """Let the object wait for us; the object as it is then. Raises as FencedClient does, Conflict when
    somebody wrote in between."""
    if held(obj, finalizer):
        return obj
    return await _write(writer, kind, obj, [*(obj["metadata"].get("finalizers") or ()), finalizer])


async def release(writer: FencedClient, kind: Kind, obj: Object, finalizer: str) -> None:
    """Let the object go."""
    if held(obj, finalizer):
        others = [one for one in obj["metadata"]["finalizers"] if one != finalizer]
        await _write(writer, kind, obj, others)


async def _write(writer: FencedClient, kind: Kind, obj: Object, finalizers: list[str]) -> Object:
    meta = obj["metadata"]
    change = {"metadata": {"resourceVersion": meta["resourceVersion"], "finalizers": finalizers}}
    call = api_requests.merge_patch(kind, meta.get("namespace", ""), meta["name"], change)
    answer = await writer.send(call, kind, f"finalizer of {kind.kind} {meta['name']}")
    return msgspec.json.decode(answer.body, type=dict[str, Any])
