"""The documentation and the help of every command use the field's words.

``phrases.txt`` lists words and phrases that they do not use, one per line; ``docs/glossary.md`` and
``CONTRIBUTING.md`` have the ones to use instead. Code spans and code blocks are exempt: they quote names and
output of programs; so are the terms of upstream projects in ``tests/architecture/words.toml``. Names,
messages and docstrings are checked by ``tests/architecture/test_words.py``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from vestibule.cli import main

ROOT = Path(__file__).parents[2]
PHRASES = [
    line.strip()
    for line in (Path(__file__).parent / "phrases.txt").read_text("utf-8").splitlines()
    if line.strip() and not line.startswith("#")
]
FORBIDDEN = re.compile(
    r"(?<![\w-])(?:" + "|".join(re.escape(one).replace(r"\ ", r"\s+") for one in PHRASES) + r")(?![\w-])",
    re.IGNORECASE,
)
PAGES = [
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
TERMS: dict[str, str] = tomllib.loads((ROOT / "tests" / "architecture" / "words.toml").read_text("utf-8"))[
    "terms"
]
EXEMPT = re.compile(
    "|".join((r"`[^`]*`|\]\([^)]*\)|<!--.*?-->", *(rf"\b{one}\b" for one in TERMS))), re.IGNORECASE
)


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside of code, by number, without code spans, link targets and comments."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, EXEMPT.sub(" ", line)


def _without_choices(text: str) -> str:
    """Help without ``[one|two]``: values of flags are API."""
    return re.sub(r"\[[^\]\n]*\|[^\]\n]*\]", "", text)


def hits(place: str, text: str) -> list[str]:
    return [
        f"{place}:{number}: {found[0]}" for number, line in prose(text) for found in FORBIDDEN.finditer(line)
    ]


def commands(command: click.Command, context: click.Context | None, name: str) -> Iterator[tuple[str, str]]:
    """Every command with its help."""
    with click.Context(command, context, info_name=name.rpartition(" ")[2]) as inner:
        yield name, command.get_help(inner)
        if isinstance(command, click.Group):
            for child in command.list_commands(inner):
                found = command.get_command(inner, child)
                assert found is not None
                yield from commands(found, inner, f"{name} {child}")


HELP = dict(commands(main.cli, None, "vestibule"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_words_of_the_field(page: Path) -> None:
    assert hits(str(page.relative_to(ROOT)), page.read_text("utf-8")) == []


@pytest.mark.parametrize("command", sorted(HELP))
def test_the_help_of_every_command_uses_the_words_of_the_field(command: str) -> None:
    assert hits(f"{command} --help", _without_choices(HELP[command])) == []


def test_help_of_subcommands_is_read() -> None:
    assert {"vestibule webhook", "vestibule oidc publish", "vestibule aro plan"} <= HELP.keys()


def test_code_is_exempt_and_prose_is_not() -> None:
    word = PHRASES[0]
    text = (
        f"`{word}` is code\n```console\n$ {word}\n```\nbut {word.upper()} is not; {word}y is another word\n"
    )

    assert hits("page", text) == [f"page:5: {word.upper()}"]


def test_every_phrase_is_listed_once() -> None:
    assert len({one.lower() for one in PHRASES}) == len(PHRASES)
