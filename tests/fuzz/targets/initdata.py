"""Initdata: a document that goes round without a change, or InitdataError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.fuzz import mutators
from vestibule.initdata import document, lint, measure

LONGEST: Final = 4096
WORDS: Final = (
    'version = "0.1.0"\n', 'algorithm = "sha256"\n', "sha384", "[data]\n", '"aa.toml" = ', "'''", '"""',
    "\n", "policy.rego", "Version", "\\u0000", "\ufeff", "H4sI", "AAAA", "=",
    "-----BEGIN PRIVATE KEY-----", "[[data]]", "1", "{}", "\r",
)  # fmt: skip


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    return mutators.flat(data, longest, seed, WORDS)


def check(data: bytes) -> None:
    """The bytes as an annotation, as packed data, as a text, and as a file of a document."""
    text = data.decode("utf-8", "replace")
    readers: tuple[Callable[[], document.InitdataDocument], ...] = (
        lambda: document.decode(text),
        lambda: document.parse(document.unpack(data)),
        lambda: document.parse(text),
        lambda: document.build({"file": text}),
    )
    for read in readers:
        try:
            found = read()
        except document.InitdataError:
            continue
        if document.decode(document.encode(found.text)) != found:
            raise AssertionError("does not come back as it was")
        measure.measured(found)
        list(lint.warnings(found))
