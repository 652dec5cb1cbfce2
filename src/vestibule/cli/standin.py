"""``vestibule webhook --as NAME``: the command line of the program that we stand in for, taken as it is.

A deployment that starts another webhook changes its image and nothing else: what follows ``--as NAME`` is
read as that program reads it, with Go's rules for flags, and its environment variables count. Of our own
flags a few may stand among them.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any, Final

import click

from vestibule.core.kinds import goflags

PROGRAMS: Final = ("azwi", "eks", "wif")
_OURS: Final = frozenset({"--cluster", "--settings", "--mode", "--context"})
_OUR_SWITCHES: Final = frozenset({"--self-signed", "--help"})


class Command(click.Command):
    """A command that hands the rest of its line to the program named by ``--as``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the original's flags out before click sees them."""
        program, rest = _program(args)
        if program is None:
            return super().parse_args(ctx, args)
        ours, theirs = _split(rest)
        ctx.obj = overrides(program, theirs)
        return super().parse_args(ctx, [*ours, "--as", program])


def overrides(program: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The settings that an original's command line and environment stand for; raises InvalidSettings."""
    module = importlib.import_module(f"vestibule.core.kinds.{program}_flags")
    data: dict[str, Any] = module.settings(goflags.parse(module.FLAGS, arguments), os.environ)
    return data


def _program(args: Sequence[str]) -> tuple[str | None, list[str]]:
    for position, argument in enumerate(args):
        name, equals, value = argument.partition("=")
        if name == "--as":
            rest = [*args[:position], *args[position + (1 if equals else 2) :]]
            chosen = value if equals else (args[position + 1] if position + 1 < len(args) else "")
            if chosen not in PROGRAMS:
                raise click.BadParameter(f"{chosen!r} is none of {', '.join(PROGRAMS)}", param_hint="--as")
            return chosen, rest
    return None, list(args)


def _split(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own flags, and those of the original."""
    ours: list[str] = []
    theirs: list[str] = []
    rest = list(args)
    while rest:
        argument = rest.pop(0)
        name = argument.partition("=")[0]
        if name in _OURS:
            ours.append(argument)
            if "=" not in argument and rest:
                ours.append(rest.pop(0))
        elif name in _OUR_SWITCHES:
            ours.append(argument)
        else:
            theirs.append(argument)
    return ours, theirs
