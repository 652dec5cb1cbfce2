"""Names, messages and docstrings of the source use the field's words.

``identifiers.txt`` lists words that names do not contain; ``tests/docs/phrases.txt`` lists words and phrases
that texts do not use. ``words.toml`` has the exemptions, each with its reason, and the files that are not
clean yet. Pages and the help of commands are checked by ``tests/docs/test_words.py``, class names that are
used twice by ``test_architecture.py``.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(path for folder in ("src", "simulators/src") for path in (ROOT / folder).rglob("*.py"))
EXEMPT = tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))
NAMES: dict[str, str] = EXEMPT["names"]
TEXTS: dict[str, set[str]] = {one["file"]: set(one["words"]) for one in EXEMPT["texts"]}
REMAINING: list[str] = EXEMPT["remaining"]["files"]


def listed(path: Path) -> list[str]:
    """The entries of a list: one per line, without comments."""
    lines = (line.strip() for line in path.read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


WORDS = set(listed(Path(__file__).parent / "identifiers.txt"))
PHRASES = listed(ROOT / "tests" / "docs" / "phrases.txt")
_PHRASE = re.compile(
    r"(?<![\w-])(?:" + "|".join(re.escape(one).replace(r"\ ", r"\s+") for one in PHRASES) + r")(?![\w-])",
    re.IGNORECASE,
)
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_EXEMPT = re.compile(
    "|".join((r"``[^`]*``", r"`[^`]*`", *(rf"\b{one}\b" for one in EXEMPT["terms"]))), re.IGNORECASE
)


class Hit(NamedTuple):
    """A word of one of the lists."""

    line: int
    where: str
    """The name, or ``text``."""
    word: str


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names that a module defines: classes, functions, parameters, variables and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case ast.ExceptHandler(name=str(name)):
                yield node.lineno, name


def hits(stem: str, source: str) -> Iterator[Hit]:
    """Every hit in a module: in its name, in names that it defines, and in its strings, docstrings included;
    code spans and strings of one word, which are keys and values, are exempt."""
    tree = ast.parse(source)
    for line, name in ((0, stem), *_names(tree)):
        if name not in NAMES:
            yield from (
                Hit(line, name, part.lower()) for part in _PART.findall(name) if part.lower() in WORDS
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            for found in _PHRASE.finditer(_EXEMPT.sub(" ", node.value)):
                yield Hit(node.lineno, "text", re.sub(r"\s+", " ", found[0]).lower())


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


FOUND = {name_of(path): list(hits(path.stem, path.read_text("utf-8"))) for path in FILES}


@pytest.mark.parametrize("file", sorted(FOUND.keys() - set(REMAINING)))
def test_names_and_texts_use_the_words_of_the_field(file: str) -> None:
    exempt = TEXTS.get(file, set())

    assert [hit for hit in FOUND[file] if not (hit.where == "text" and hit.word in exempt)] == []


def test_files_that_are_clean_leave_the_list_of_remaining_files() -> None:
    assert [file for file in REMAINING if not FOUND.get(file)] == []
    assert sorted(set(REMAINING)) == REMAINING


def test_every_exempt_text_is_in_its_file() -> None:
    unused = {
        (file, word)
        for file, words in TEXTS.items()
        for word in words
        if not any(hit.where == "text" and hit.word == word for hit in FOUND.get(file, ()))
    }

    assert unused == set()


def test_every_exempt_name_is_defined() -> None:
    defined = {name for path in FILES for _, name in _names(ast.parse(path.read_text("utf-8")))}

    assert NAMES.keys() - defined == set()


def test_every_word_is_listed_once() -> None:
    words = listed(Path(__file__).parent / "identifiers.txt")

    assert len(set(words)) == len(words)
    assert [word for word in words if not re.fullmatch("[a-z]+", word)] == []


@pytest.mark.parametrize(
    ("stem", "source", "expected"),
    [
        ("doorway", "", ("doorway", "doorway")),
        ("m", "class GuestReader: ...", ("GuestReader", "guest")),
        ("m", "def tell_all(): ...", ("tell_all", "tell")),
        ("m", "def read(*, wanted): ...", ("wanted", "wanted")),
        ("m", "self._kept = 1", ("_kept", "kept")),
        ("m", "def read(): '''Nobody reads it.'''", ("text", "nobody")),
        ("m", "log(f'event not told {x}')", ("text", "told")),
        ("m", "x = 'is passed\\n over'", ("text", "passed over")),
    ],
)
def test_a_hit_is_found(stem: str, source: str, expected: tuple[str, str]) -> None:
    assert [hit[1:] for hit in hits(stem, source)] == [expected]


@pytest.mark.parametrize(
    "source",
    [
        "x = 'told'",
        "def read(): '''Reads ``told`` of it.'''",
        "untold = 1",
        "vocabularies = ()",
        "x = 'a role definition'",
    ],
)
def test_keys_code_spans_other_words_api_and_upstream_terms_are_exempt(source: str) -> None:
    assert list(hits("m", source)) == []
