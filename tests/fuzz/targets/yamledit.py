"""Edits of YAML text: the new text means what the patch says, and what it does not touch stays as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.fuzz import mutators
from vestibule.admission import pointer
from vestibule.diagnose.offline import manifest_files
from vestibule.errors import InvalidInput
from vestibule.yamledit import yaml_documents

LONGEST: Final = 4096
LONGEST_KEY: Final = 1000
WORDS: Final = (
    "apiVersion: v1\n", "kind: Pod\n", "metadata:\n", "  name: a\n", "  annotations: {a: b}\n", "spec:\n",
    "- name: x\n", "---\n", "...\n", "# note\n", " # note", "|\n", ">-\n", "|+\n", "&a ", "*a", "<<: *a",
    "{", "}", "[", "]", ", ", ": ", "- ", "? ", "'", '"', "\\n", "\t", "\r\n", "\n\n", "  ", "null", "~",
    "!!str ", "%YAML 1.1\n", "\u2028", "\ufeff", "é", "0x1f", "yes",
)  # fmt: skip
NEW: Final[tuple[Any, ...]] = (
    "a: b",
    {"x": [{"y": "z"}], "e": {}},
    [],
    True,
    "line\nline\n",
    'quo"te',
    "",
    "2026-11-18",
    7,
)


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    return data[:1] + mutators.flat(data[1:], longest - 1, seed, WORDS)


def check(data: bytes) -> None:
    """The first byte picks place and value of the edit."""
    if not data:
        return
    text = data[1:].decode("utf-8", "replace").removeprefix("\ufeff")
    found, _ = yaml_documents.documents("fuzz.yaml", text)
    for document in found:
        if not isinstance(document.value, dict):
            continue
        places = list(_places(document.value, ()))
        path = places[data[0] % len(places)]
        value = NEW[data[0] % len(NEW)]
        try:
            edited = manifest_files.patched(
                document, [{"op": "add", "path": pointer.pointer(*path), "value": value}]
            )
        except InvalidInput:
            if any(len(json.dumps(key)) > LONGEST_KEY for key in _keys(document.value)):
                continue  # YAML has another form for such keys, which nobody writes
            raise
        again, problems = yaml_documents.documents("fuzz.yaml", edited.text)
        if problems or [one.value for one in again if one.value is not None] != [edited.value]:
            raise AssertionError(f"{document.text!r} became {edited.text!r}: {problems}")


def _places(value: Any, above: tuple[str, ...]) -> Any:
    """Where something can be put in: a new key of each mapping, a new item of each list."""
    if isinstance(value, dict):
        yield (*above, "new")
        for key, inner in value.items():
            yield from _places(inner, (*above, str(key)))
    elif isinstance(value, list):
        yield (*above, "-")
        for number, inner in enumerate(value):
            yield from _places(inner, (*above, str(number)))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from map(str, value)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(inner)
