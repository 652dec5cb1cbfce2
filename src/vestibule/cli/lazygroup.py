"""A group of commands that knows their names and loads their module when one of them is wanted."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """``listed``: the name of a command → the name of its function in ``module``, and a line about it."""

    def __init__(
        self,
        *args: Any,
        module: str,
        listed: Mapping[str, tuple[str, str]],
        aliases: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self._module, self._listed, self._aliases = module, listed, aliases or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._listed)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = self._listed.get(self._aliases.get(cmd_name, cmd_name))
        if found is None:
            return None
        command: click.Command = getattr(importlib.import_module(self._module), found[0])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._listed.items()])
