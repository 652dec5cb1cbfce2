"""What the pages on security claim is shown by tests that exist."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "docs" / "security" / "threat-model.md"
PROSE = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
ATTACKERS = (
    "A tenant",
    "A stolen webhook token",
    "A stolen operator token, or the certificate issuer's",
    "The administrator of a hosted cluster",
    "A network neighbour",
)
_TEST = re.compile(r"tests/[\w/.-]+\.py::\w+")


@functools.cache
def functions_of(path: str) -> frozenset[str]:
    """Names of the test functions of a file; empty when there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    functions = (one for one in nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(one.name for one in functions if one.name.startswith("test_"))


def missing(text: str) -> list[str]:
    """Tests that a text names and that do not exist."""
    found = (one.partition("::") for one in _TEST.findall(text))
    return [f"{path}::{name}" for path, _, name in found if name not in functions_of(path)]


def sections(text: str) -> dict[str, str]:
    """The text below each heading of the second level."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(text: str) -> Iterator[tuple[str, ...]]:
    """The rows of the tables of attacks, without their heads."""
    for line in text.splitlines():
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        if line.startswith("|") and len(cells) == 3 and cells[0] != "tries" and set(cells[0]) != {"-"}:
            yield cells


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_test_that_is_named_exists(page: Path) -> None:
    assert missing(page.read_text("utf-8")) == []


def test_a_test_that_does_not_exist_is_found() -> None:
    here = "tests/docs/test_security.py"

    assert missing(f"`{here}::test_a_test_that_does_not_exist_is_found`") == []
    assert missing(f"`{here}::test_nothing`, `tests/nowhere.py::test_nothing`") == [
        f"{here}::test_nothing",
        "tests/nowhere.py::test_nothing",
    ]


@pytest.mark.parametrize("attacker", ATTACKERS)
def test_every_attack_names_a_test_and_what_remains_is_listed(attacker: str) -> None:
    section = sections(MODEL.read_text("utf-8"))[attacker]
    found = list(rows(section))

    assert len(found) >= 5
    assert [tries for tries, _, shown in found if not _TEST.search(shown)] == []
    assert len(re.findall(r"can still do", section)) >= 1
