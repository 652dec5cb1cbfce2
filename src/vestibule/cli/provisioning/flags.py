"""Flags of every cloud's commands, named and meant as the original's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from vestibule.cli import options
from vestibule.errors import InvalidInput, Problem

F = TypeVar("F", bound=Callable[..., Any])
_FILE: Final = click.Path(path_type=Path)

NAME: Final = click.option("--name", default="", help="Name of everything that is made. Required.")
OUTPUT_DIR: Final = click.option(
    "--output-dir", type=_FILE, default=Path(), metavar="DIR", help="Where files go; made if it is missing."
)
REQUESTS: Final = click.option(
    "--credentials-requests-dir",
    "requests_dir",
    type=_FILE,
    metavar="DIR",
    help="CredentialsRequests: *.yaml and *.yml, not below. Required.",
)
TECH_PREVIEW: Final = click.option(
    "--enable-tech-preview", "tech_preview", is_flag=True, help="Take requests of the tech preview, too."
)
PUBLIC_KEY: Final = click.option(
    "--public-key-file",
    "public_key",
    type=_FILE,
    metavar="FILE",
    help="Public key that the cluster's tokens are verified with; default: serviceaccount-signer.public.",
)
VERIFY: Final = click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Fetch the issuer from its public address afterwards and compare.",
)
PLAN: Final = click.option(
    "--plan", "look", is_flag=True, help="Only read: print exactly what would be done, write nothing."
)
OUTPUT: Final = options.output("text", "json")


def parallel(about: str = "Calls at a time.") -> Callable[[F], F]:
    """``--parallel``."""
    return click.option("--parallel", type=click.IntRange(1, 32), default=4, show_default=True, help=about)


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """The options, in this order in the help."""

    def put(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return put


def required(values: Mapping[str, object]) -> None:
    """Raises InvalidInput for all flags that are missing or empty, at once."""
    problems = [
        Problem(flag, "", "is required, and is missing or empty")
        for flag, value in values.items()
        if not value
    ]
    if problems:
        raise InvalidInput(*problems)
