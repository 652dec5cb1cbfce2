"""Prints for people or for machines: YAML that reads well, JSON that parses, colour only on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
import msgspec


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
