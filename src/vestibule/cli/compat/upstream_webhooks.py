"""``vestibule webhook --as NAME``: the unchanged command line of an upstream webhook.

A deployment that starts another webhook changes its image and nothing else: what follows ``--as NAME`` is
read as that program reads it, with Go's rules for flags, and its environment variables count. Of our own
flags, vestibule's own are accepted unless the upstream webhook has one of that name.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import click

from vestibule import __version__, errors
from vestibule.compat import goflags

PROGRAMS: Final = ("azwi", "eks", "wif")
_OURS: Final = frozenset(
    {"--cluster", "--settings", "--mode", "--context", "--addr", "--metrics-addr", "--client-ca"}
)
_OUR_SWITCHES: Final = frozenset({"--self-signed"})
_HELP: Final = frozenset({"-h", "--h", "-help", "--help"})

logger = logging.getLogger(__name__)


class CompatCommand(click.Command):
    """A command that hands the rest of its line to the program named by ``--as``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remove the upstream flags before click sees them."""
        program, rest = _program(args)
        if program is None:
            return super().parse_args(ctx, args)
        module = importlib.import_module(f"vestibule.compat.{program}_flags")
        flags: tuple[goflags.GoFlag, ...] = module.FLAGS
        ours, theirs = _split(rest, {flag.name for flag in flags})
        if "--help" in ours:
            ctx.obj = flags
            return super().parse_args(ctx, ["--help"])
        given = goflags.parse(flags, theirs)
        if goflags.boolean(given.get("version", "false")):
            click.echo(json.dumps({"buildVersion": __version__, "program": "vestibule", "as": program}))
            ctx.exit()
        ctx.obj = module.settings(given, os.environ)
        return super().parse_args(ctx, [*ours, "--as", program])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """With ``--as NAME`` the upstream webhook's flags and those of vestibule."""
        if ctx.obj is None:
            super().format_options(ctx, formatter)
            return
        flags: tuple[goflags.GoFlag, ...] = ctx.obj
        with formatter.section("Flags of the upstream webhook"):
            formatter.write_dl([(f"--{flag.name}", flag.about) for flag in flags])
        shown = (_OURS | _OUR_SWITCHES | {"--as", "--help"}) - {f"--{flag.name}" for flag in flags}
        records = [one.get_help_record(ctx) for one in self.get_params(ctx) if shown & set(one.opts)]
        with formatter.section("Flags of ours"):
            formatter.write_dl([record for record in records if record is not None])


@contextlib.contextmanager
def naming(meaning: goflags.FlagSettings | None) -> Iterator[None]:
    """Problems with settings are reported by the name of their flag or variable."""
    try:
        yield
    except errors.InvalidSettings as error:
        if meaning is None:
            raise
        raise errors.InvalidSettings(*(_named(problem, meaning) for problem in error.problems)) from error


def report_ignored(meaning: goflags.FlagSettings) -> None:
    """Report once which flags have no effect here."""
    for flag, reason in meaning.notes:
        logger.warning("flag without its effect", extra={"flag": flag, "reason": reason})


def _named(problem: errors.InputProblem, meaning: goflags.FlagSettings) -> errors.InputProblem:
    place = meaning.origins.get(problem.field)
    return problem if place is None else errors.InputProblem(place, "", problem.text)


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


def _split(args: Sequence[str], known: Collection[str]) -> tuple[list[str], list[str]]:
    """The flags of vestibule and those of cwii."""
    ours: list[str] = []
    theirs: list[str] = []
    rest = list(args)
    while rest:
        argument = rest.pop(0)
        name = argument.partition("=")[0]
        if argument in _HELP:
            ours.append("--help")
        elif name in _OURS and name[2:] not in known:
            ours.append(argument)
            if "=" not in argument and rest:
                ours.append(rest.pop(0))
        elif name in _OUR_SWITCHES:
            ours.append(argument)
        else:
            theirs.append(argument)
    return ours, theirs
