"""Prints for people or for machines: YAML that reads well, JSON that parses, colour only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from rich.console import Console


def json_text(value: Any) -> str:
    """Indented JSON with a final line feed."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def yaml_text(documents: Iterable[Any]) -> str:
    """A YAML stream; keys keep their order, lists are indented, nothing is an alias."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, False)

    return "---\n".join(
        yaml.dump(document, Dumper=Dumper, sort_keys=False, width=110, allow_unicode=True)
        for document in documents
    )


def progress() -> Callable[[str], None]:
    """Shows every step as a line on a terminal; silent elsewhere, so that logs stay readable."""
    if not sys.stderr.isatty():
        return lambda _: None
    return lambda text: click.secho(f"… {text}", err=True, dim=True)


def diff(text: str) -> None:
    """A unified diff, coloured on a terminal."""
    for line in text.splitlines():
        if line.startswith("@@"):
            click.secho(line, fg="cyan")
        elif line.startswith("+"):
            click.secho(line, fg="green")
        elif line.startswith("-"):
            click.secho(line, fg="red")
        else:
            click.echo(line)


def console() -> Console:
    """A console for people: colour only on a terminal, wide when piped."""
    from rich.console import Console as RichConsole

    rich_console = RichConsole(highlight=False)
    return rich_console if rich_console.is_terminal else RichConsole(highlight=False, width=200)


def table(on: Console, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A plain table; long values wrap inside their column and nothing is cut."""
    from rich.table import Table
    from rich.text import Text

    on.print()
    rich_table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2), show_edge=False)
    for number, heading in enumerate(headings):
        rich_table.add_column(Text(heading, style="dim"), overflow="fold", no_wrap=number == 0)
    for row in rows:
        rich_table.add_row(*(Text(cell) for cell in row))
    on.print(rich_table)
