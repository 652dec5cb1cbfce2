"""Every module of the product is reached from a command: what only tests import does not belong in it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from vestibule.cli import main

ROOT = Path(__file__).parents[2]
TREES = (ROOT / "src", ROOT / "simulators" / "src")
ENTRIES = ("vestibule.__main__", "vestibule.cli.main")
UNREACHED: frozenset[str] = frozenset()
"""Modules that no command reaches, each with a comment that says why it is there; none today."""


def _modules() -> dict[str, Path]:
    found = {}
    for tree in TREES:
        for path in tree.rglob("*.py"):
            parts = path.relative_to(tree).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


def _commands(group: click.Command, context: click.Context) -> Iterator[str]:
    """The modules of all commands, loaded as a shell would load them."""
    if group.callback is not None:
        yield inspect.unwrap(group.callback).__module__
    if isinstance(group, click.Group):
        yield type(group).__module__
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None, name
            yield from _commands(command, click.Context(command, parent=context, info_name=name))


class ImportVisitor(ast.NodeVisitor):
    """What a module imports when it runs; not what only a type checker sees."""

    def __init__(self, name: str) -> None:
        self._package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
        self.found: set[str] = set()

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for one in node.orelse:
                self.visit(one)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.found |= {alias.name for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        above = self._package.split(".")[: len(self._package.split(".")) - node.level + 1]
        base = ".".join([*above, *filter(None, [node.module])]) if node.level else node.module or ""
        self.found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and "." in node.value:
            self.found.add(node.value)  # for importlib, and for ``python -m`` in a child process


def reached(start: set[str]) -> set[str]:
    """All modules that are imported from here on, packages included."""
    seen: set[str] = set()
    left = list(start)
    while left:
        name = left.pop()
        if name in seen or name not in MODULES:
            continue
        seen.add(name)
        imports = ImportVisitor(name)
        imports.visit(ast.parse(MODULES[name].read_text()))
        left += [name.rpartition(".")[0], *imports.found]
    return seen


def test_every_module_is_reached_from_a_command() -> None:
    start = {*ENTRIES, *_commands(main.cli, click.Context(main.cli))}
    simulators = {name for name in MODULES if name.split(".")[0] == "vestibule_simulators"}

    unreached = MODULES.keys() - reached(start | simulators)

    assert unreached == UNREACHED


def test_a_module_that_nobody_imports_would_be_found() -> None:
    assert reached({"vestibule.errors"}) == {"vestibule.errors", "vestibule"}
    assert "vestibule.operator.controllers.hosted.rollout" in reached({"vestibule.cli.hosted"})
    assert "vestibule.operator.controllers.hosted.rollout" not in reached({"vestibule.cli.aro"})
