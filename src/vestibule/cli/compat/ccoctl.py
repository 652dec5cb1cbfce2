"""``vestibule ccoctl azure|aws|gcp …``: the command lines of ccoctl; failures exit with 1."""

from __future__ import annotations

import sys
from typing import Any

import click

from vestibule import errors
from vestibule.cli.main import EXIT_FAILED


class _CcoctlGroup(click.Group):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        import importlib

        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = importlib.import_module(f"vestibule.cli.{cmd_name}").command
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["aws", "azure", "gcp"]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            error.show()
        except errors.InvalidInput as error:
            for problem in error.problems:
                click.echo(f"error: {problem}", err=True)
        sys.exit(EXIT_FAILED)


@click.group("ccoctl", cls=_CcoctlGroup)
def command() -> None:
    """Accept the command lines of ccoctl unchanged."""
