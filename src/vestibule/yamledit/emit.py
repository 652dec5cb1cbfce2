"""Values as YAML text: in block style for what is inserted into block style, in flow style for the rest.

Made for values that we add to a user's file, so it writes the way people do: plain words where they are safe,
quotes where any reader might take the word for something else. Comments, anchors and folding do not occur.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from vestibule.yamledit import values


class YamlStyle(NamedTuple):
    """How the file around indents."""

    step: int = 2
    """Indentation of a mapping in a mapping."""
    offset: int = 0
    """Indentation of the dashes of a list in a mapping."""


_SAFE: Final = re.compile(r"[A-Za-z/_](?:[\w./@+~%-]|:(?=[\w/:]))*", re.ASCII)
_SHORT_WORDS: Final = frozenset({"y", "Y", "n", "N"})
"""Truth values to some readers of YAML 1.1."""
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def block(value: Any, style: YamlStyle) -> list[str]:
    """Lines of block style, the first one at column 0; empty collections and scalars are one line."""
    if isinstance(value, Mapping) and value:
        return [line for key, child in _name_first(value) for line in entry(key, child, style)]
    if isinstance(value, list) and value:
        return [line for child in value for line in item(child, style)]
    return [flow(value)]


def entry(key: str, value: Any, style: YamlStyle) -> list[str]:
    """Lines of ``key: value``."""
    if not isinstance(value, Mapping | list) or not value:
        return [f"{scalar(key)}: {flow(value)}"]
    indent = " " * (style.step if isinstance(value, Mapping) else style.offset)
    return [f"{scalar(key)}:", *(indent + line for line in block(value, style))]


def item(value: Any, style: YamlStyle) -> list[str]:
    """Lines of ``- value``."""
    first, *rest = block(value, style)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def flow(value: Any) -> str:
    """One line of flow style."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {flow(child)}" for key, child in _name_first(value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def _name_first(mapping: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Entries in their order, but ``name`` first, as is usual."""
    return sorted(mapping.items(), key=lambda entry: entry[0] != "name")


def scalar(value: Any) -> str:
    """A scalar, quoted only where it must be."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if not isinstance(value, str):
        return repr(value)
    if _SAFE.fullmatch(value) and value not in _SHORT_WORDS and isinstance(values.scalar(value), str):
        return value
    if not value.isprintable():
        return '"' + "".join(map(_escaped, value)) + '"'
    if '"' in value or "\\" in value:
        return "'" + value.replace("'", "''") + "'"
    return f'"{value}"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() else f"\\U{ord(char):08x}"
