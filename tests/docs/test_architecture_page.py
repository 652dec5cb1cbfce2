"""The architecture page names packages, modules and signatures as they are."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "vestibule"
PAGE = (ROOT / "docs" / "internals" / "architecture.md").read_text("utf-8")
SEAMS = re.findall(r"`([a-z_.]+(?:\.[A-Z]\w+)?\.\w+)\(([\w, ]+)\)`", PAGE)
WHERE = re.findall(r"^\| [^|]+ \| `([a-z_/.]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("path", "parameters"), SEAMS, ids=[path for path, _ in SEAMS])
def test_signatures_are_those_of_the_code(path: str, parameters: str) -> None:
    module, *names = re.split(r"\.(?=[A-Z])|\.(?=\w+$)", path)
    found = functools.reduce(getattr, names, importlib.import_module(f"vestibule.{module}"))

    assert ", ".join(inspect.signature(found).parameters) == parameters  # type: ignore[arg-type]


def test_the_page_has_signatures() -> None:
    assert len(SEAMS) >= 8


def test_packages_in_the_table_are_those_of_the_tree() -> None:
    table = PAGE.split("## Packages")[1].split("## Layers")[0]
    listed = {
        name
        for row in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    }
    existing = {path.parent.name for path in SOURCE.glob("*/__init__.py")}

    assert listed == existing


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:[a-z]+/)+[a-z_]+)(?:\.\w+)?`", PAGE))))
def test_paths_on_the_page_exist(path: str) -> None:
    assert (SOURCE / f"{path}.py").exists() or (SOURCE / path).is_dir() or (ROOT / path).is_dir()


def test_paths_in_where_is_exist() -> None:
    assert len(WHERE) >= 5
    assert [path for path in WHERE if not (ROOT / path).exists()] == []
