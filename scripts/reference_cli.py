"""The reference page of the command line, from the commands."""

from __future__ import annotations

from collections.abc import Iterator

import click

from vestibule.cli import main


def page(head: str) -> str:
    """Every command with its help."""
    lines = [head, "# Commands", "", "The help of every command, as `--help` prints it.", ""]
    for path, text in _walk(main.cli, click.Context(main.cli, info_name="vestibule"), "vestibule"):
        lines += [f"## `{path}`", "", "```text", *(line.rstrip() for line in text.splitlines()), "```", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _walk(command: click.Command, context: click.Context, path: str) -> Iterator[tuple[str, str]]:
    context.max_content_width = context.terminal_width = 110
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and name != "ccoctl":  # the same commands again
                yield from _walk(
                    below, click.Context(below, info_name=name, parent=context), f"{path} {name}"
                )
