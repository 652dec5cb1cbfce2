"""What the pages on security claim is shown by tests that exist."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from scripts import rights

from vestibule import errors
from vestibule.api.settings import schema

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


# ── the table of permissions ────────────────────────────────────────────────────────────────────────────────
COMPANIONS: dict[str, dict[str, object]] = {
    "install.hosted": {"hostedNamespaces": ["clusters"]},
    "install.hostedAllNamespaces": {"hosted": True},
}
"""What a setting needs beside it."""


def switches() -> Iterator[tuple[str, str, bool]]:
    """Every switch of the settings: its section, its name and its default."""
    for section in msgspec.structs.fields(schema.Settings):
        if isinstance(section.type, type) and issubclass(section.type, msgspec.Struct):
            for field in msgspec.structs.fields(section.type):
                if field.type is bool and _granted(section.encode_name, field) is not None:
                    yield section.encode_name, field.encode_name, bool(field.default)


def _granted(section: str, field: msgspec.structs.FieldInfo) -> set[str] | None:
    """The rows of the table with a switch turned; None: it cannot be set alone, and then grants nothing."""
    name = field.encode_name
    data = {section: {name: not field.default, **COMPANIONS.get(f"{section}.{name}", {})}}
    try:
        return {str(row) for row in rights.rows(data)}
    except errors.InvalidInput:
        return None


@pytest.mark.parametrize(("section", "name", "default"), list(switches()), ids=str)
def test_every_switch_that_grants_permissions_is_in_the_table(section: str, name: str, default: bool) -> None:
    """Otherwise an administrator who sets it cannot read what it grants."""
    data = {section: {name: not default, **COMPANIONS.get(f"{section}.{name}", {})}}
    granted = set(rights.rows(data))
    listed = set(rights.rows({})).union(*map(rights.rows, rights.SETTINGS.values()))

    assert granted <= listed


def test_hosted_clusters_in_all_namespaces_are_in_the_table() -> None:
    lines = [
        line
        for line in (ROOT / "SECURITY.md").read_text("utf-8").splitlines()
        if line.startswith("|") and "`install.hostedAllNamespaces`" in line
    ]

    assert any("| cluster |" in line and "secrets" in line for line in lines)
