"""The reference page of our kinds, from their CRDs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vestibule.manifests import aro_crds, crds

Json = dict[str, Any]


def page(head: str) -> str:
    """All kinds, each with a table of its fields."""
    lines = [head, "# Custom resources", "", "Every field of the kinds that this project defines.", ""]
    kinds = [
        crds.webhook(),
        crds.hosted_webhook(),
        crds.identity_policy(),
        crds.published_issuer(),
        *crds.sandboxes(),
        *aro_crds.definitions(),
    ]
    for one in kinds:
        lines += _kind(one)
    return "\n".join(lines).rstrip("\n") + "\n"


def _kind(crd: Json) -> Iterator[str]:
    spec, version = crd["spec"], crd["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    yield from (f"## {spec['names']['kind']}", "", schema["description"], "")
    short = f", short name `{spec['names']['shortNames'][0]}`" if spec["names"].get("shortNames") else ""
    yield f"`{spec['group']}/{version['name']}`, {spec['scope'].lower()}{short}."
    yield from ("", "| field | type | description |", "|---|---|---|")
    for name in ("spec", "status"):
        if name in schema["properties"]:
            yield from _rows(schema["properties"][name], name)
    yield ""


def _rows(schema: Json, path: str) -> Iterator[str]:
    for name, child in (schema.get("properties") or {}).items():
        required = "; required" if name in schema.get("required", ()) else ""
        text = _cell(str(child.get("description", "")))
        yield f"| `{path}.{name}` | {_type(child)}{required} | {text} |"
        yield from _rows(child, f"{path}.{name}")
    for below, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(below), dict):
            yield from _rows(schema[below], f"{path}{mark}")


def _type(schema: Json) -> str:
    if "enum" in schema:
        return " or ".join(f"`{one}`" if one else "empty" for one in schema["enum"])
    kind = str(schema.get("type", "object"))
    if kind == "array":
        return f"list of {_type(schema.get('items') or {})}"
    default = f", default `{schema['default']}`" if "default" in schema else ""
    return f"{kind}{default}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace(">", "&gt;")
