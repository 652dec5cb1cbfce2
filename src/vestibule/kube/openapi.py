"""What the API server says about the fields of a kind: its OpenAPI document, which every account may read."""

from __future__ import annotations

from typing import Any

import msgspec

from vestibule.api.gvk import Kind
from vestibule.kube import api_requests
from vestibule.kube.client import Client


async def declares(client: Client, kind: Kind, *path: str) -> bool:
    """Whether the schema that is served for a kind has a field; False where that cannot be found out. Raises
    Unavailable."""
    answer = await client.send(api_requests.document(f"/openapi/v3/apis/{kind.group}/{kind.version}"))
    if answer.status != 200:
        return False
    try:
        document = msgspec.json.decode(answer.body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return False
    for schema in (document.get("components") or {}).get("schemas", {}).values():
        for one in schema.get("x-kubernetes-group-version-kind") or ():
            if (one.get("group"), one.get("version"), one.get("kind")) == (
                kind.group,
                kind.version,
                kind.kind,
            ):
                return _has(schema, path)
    return False


def _has(schema: dict[str, Any], path: tuple[str, ...]) -> bool:
    for field in path:
        below: Any = (schema.get("properties") or {}).get(field)
        if not isinstance(below, dict):
            return False
        schema = below
    return True
