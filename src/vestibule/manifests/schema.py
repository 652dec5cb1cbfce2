"""Structural OpenAPI schemas for custom resources, generated from the types that read them.

The API server checks what the types say, and descriptions are the texts below their fields
(``field_docs``). Unknown fields are pruned by the API server, so none are forbidden here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from vestibule.manifests.field_docs import FIELD_DOCS


def structural(kind: type) -> dict[str, Any]:
    """The schema of a type as the API server wants it: no references, no titles, optional is absent."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="{name}")
    return _plain(schema, parts)


def open_objects(plain: dict[str, Any]) -> dict[str, Any]:
    """The schema with unknown fields preserved in every object that lists its fields."""
    if "properties" in plain:
        plain["x-kubernetes-preserve-unknown-fields"] = True
        for child in plain["properties"].values():
            open_objects(child)
    if isinstance(plain.get("items"), dict):
        open_objects(plain["items"])
    return plain


def _plain(schema: Any, parts: dict[str, Any], name: str = "") -> dict[str, Any]:
    """``name`` is that of the class, where the schema is one's."""
    if "$ref" in schema:
        inner = _plain(parts[schema["$ref"]], parts, schema["$ref"])
        about = schema.get("description")
        return {**inner, "description": about} if about else inner
    if "anyOf" in schema:
        options = [option for option in schema["anyOf"] if option != {"type": "null"}]
        if len(options) != 1:
            raise ValueError(f"no structural schema says {schema['anyOf']}")
        return _plain(options[0], parts)
    plain: dict[str, Any] = {}
    if "description" in schema:
        plain["description"] = " ".join(schema["description"].replace("``", "").split())
    if "enum" in schema:
        return {**plain, "type": "string", "enum": list(schema["enum"])}
    if schema.get("type") == "integer":
        plain["format"] = "int32"
    for key in ("type", "pattern", "minimum", "maximum", "minLength", "maxLength", "maxItems", "minItems"):
        if key in schema:
            plain[key] = schema[key]
    if "type" not in plain:
        return {**plain, "x-kubernetes-preserve-unknown-fields": True}
    if plain["type"] == "array":
        plain["items"] = _plain(schema.get("items") or {}, parts)
    if "properties" in schema:
        texts = FIELD_DOCS.get(name, {})
        plain["properties"] = {
            field: _plain(child, parts) | ({"description": texts[field]} if field in texts else {})
            for field, child in sorted(schema["properties"].items())
        }
        if schema.get("required"):
            plain["required"] = sorted(schema["required"])
    elif isinstance(schema.get("additionalProperties"), dict):
        plain["additionalProperties"] = _plain(schema["additionalProperties"], parts)
    return plain
