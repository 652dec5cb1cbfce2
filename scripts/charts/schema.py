"""``values.schema.json``: our values by their types, and the names that other charts have for them.

No object takes a name that it does not know, so Helm refuses a typing error with its path.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from scripts import reference
from scripts.charts.values import Settings, Values

from vestibule.api import annotation_keys
from vestibule.api.settings import schema as settings_schema

Schema = dict[str, Any]
RANGES: Final[dict[str, Schema]] = {
    "settings.mountRoot": {"pattern": "^/"},
    "settings.maxTokenExpirationSeconds": {
        "minimum": annotation_keys.MIN_TOKEN_SECONDS,
        "maximum": annotation_keys.MAX_TOKEN_SECONDS,
    },
    "settings.verify.runAsUser": {"minimum": 1},
    "settings.verify.timeoutSeconds": {"minimum": 1},
    "settings.serving.maxConnections": {"minimum": 1},
    "settings.serving.maxInflight": {"minimum": 1},
    "settings.serving.drainSeconds": {"minimum": 0},
    "settings.serving.graceSeconds": {"minimum": 0},
    "settings.serving.addr": {"pattern": "^.+:[0-9]+$"},
    "settings.serving.metricsAddr": {"pattern": "^(.+:[0-9]+)?$"},
    "settings.exclude.namespaces": {
        "items": {"type": "string", "pattern": "^[a-z0-9*]([-a-z0-9.*]*[a-z0-9*])?$"}
    },
}
"""What the types of the settings cannot say and a release should be told before its pods are."""


def text(names: list[dict[str, Any]]) -> str:
    """The whole file; ``names`` are those of other charts."""
    _, found = msgspec.json.schema_components([Values], ref_template="{name}")
    full = _inlined(found["Values"], found, Values)
    for path, limits in RANGES.items():
        _at(full, path.split(".")).update(limits)
    for one in names:
        _add(full, one["name"].split("."), one)
    full["properties"]["global"] = {
        "description": "What a chart above this one shares with all of its parts; not read.",
        "type": "object",
        "additionalProperties": True,
    }
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", **full}, indent=2) + "\n"


def _words(cls: type) -> dict[str, str]:
    """The text below each field, by its name in a file."""
    found = reference.words(settings_schema.Settings if cls is Settings else cls)
    return {field.encode_name: found.get(field.name, "") for field in msgspec.structs.fields(cls)}


def _inlined(schema: Schema, found: dict[str, Schema], cls: type | None) -> Schema:
    """Without references, titles and defaults, with a text for each name."""
    created = {key: value for key, value in schema.items() if key not in ("title", "default", "required")}
    if schema.get("required"):
        created["required"] = schema["required"]
    if "properties" in schema and cls is not None:
        words = _words(cls)
        types = {field.encode_name: field.type for field in msgspec.structs.fields(cls)}
        created["properties"] = {
            name: {**_resolved(one, found, types[name]), **_about(words[name])}
            for name, one in schema["properties"].items()
        }
    return created


def _about(words: str) -> Schema:
    return {"description": words} if words else {}


def _resolved(schema: Schema, found: dict[str, Schema], hint: Any) -> Schema:
    if "$ref" in schema:
        return _inlined(found[schema["$ref"]], found, hint)
    created = {key: value for key, value in schema.items() if key != "default"}
    for inner in ("items", "additionalProperties"):
        if isinstance(created.get(inner), dict):
            created[inner] = _deep(created[inner], found)
    return created


def _deep(schema: Schema, found: dict[str, Schema]) -> Schema:
    """A schema whose parts have no texts of ours."""
    if "$ref" in schema:
        return _inlined(found[schema["$ref"]], found, None)
    return {
        key: [_deep(one, found) for one in value] if key == "anyOf" else value
        for key, value in schema.items()
    }


def _at(schema: Schema, path: list[str]) -> Schema:
    for name in path:
        schema = schema["properties"][name]
    return schema


def _add(schema: Schema, path: list[str], one: dict[str, Any]) -> None:
    """A name of another chart; Helm says nothing of it, the templates do."""
    [name, *more] = path
    properties = schema.setdefault("properties", {})
    if more:
        inner = properties.setdefault(
            name, {"type": "object", "additionalProperties": False, "description": "A name of other charts."}
        )
        _add(inner, more, one)
        return
    if name in properties:
        raise SystemExit(f"othernames.yaml: {one['name']} is a name of our own")
    where = f"here {one['ours']}" if "ours" in one else "not needed here"
    properties[name] = {
        "description": f"A name of other charts, {where}.",
        "type": [one["type"], "null"],
        **({"additionalProperties": True} if one["type"] == "object" else {}),
    }


def paths(cls: type[msgspec.Struct] = Values, above: str = "") -> Iterator[tuple[str, Any, Any, str]]:
    """Name, type, default and text of every value of ours, sections after their name; settings as a whole."""
    words = reference.words(cls)
    for field in msgspec.structs.fields(cls):
        name = f"{above}{field.encode_name}"
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        section = isinstance(default, msgspec.Struct)
        yield name, field.type, default, words[field.name]
        if section and field.name != "settings":
            yield from paths(field.type, f"{name}.")
