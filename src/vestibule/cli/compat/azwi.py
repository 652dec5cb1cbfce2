"""``vestibule azwi``: command lines of the Azure Workload Identity CLI, taken as they are."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vestibule import errors
from vestibule.cli import main
from vestibule.cli.oidc import sources

_JWKS = """\b
  vestibule azwi jwks --public-keys sa.pub --output-file jwks.json
  vestibule azwi jwks --public-keys old.pub,new.pub

\b
As azwi: two blanks of indentation, no line feed at the end, a new file is readable by you alone, and
of a private key the public half is taken. Better: a key that is given twice is written once, PKCS#1 is
taken, and an RSA key below 2048 bits is refused; --mode strict does what azwi does.
Exit codes: 0 success, 1 anything else.
"""


@click.group()
def command() -> None:
    """Commands of the Azure Workload Identity CLI."""


@command.command(epilog=_JWKS)
@click.option("--public-keys", "files", multiple=True, required=True, metavar="FILES", help="PEM files.")
@click.option("--output-file", type=click.Path(path_type=Path), help="Default: standard output.")
@click.option(
    "--mode", type=click.Choice(["better", "strict"]), default="better", help="strict: same output as azwi."
)
def jwks(files: tuple[str, ...], output_file: Path | None, mode: str) -> None:
    """Print the JWKS of public keys."""
    from vestibule.oidc import documents, keys

    intake = keys.AZWI if mode == "strict" else keys.BETTER._replace(private=True)
    try:
        body = documents.key_set(sources.read(files, intake), documents.AZWI_INDENT)
    except errors.InvalidInput as error:
        for problem in error.problems:
            click.echo(f"error: {problem}", err=True)
        sys.exit(main.EXIT_FAILED)
    sources.write(output_file, body, 0o600)
