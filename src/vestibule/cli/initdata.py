"""``vestibule initdata``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule.cli import main, options, printer

if TYPE_CHECKING:
    from vestibule.initdata.document import InitdataDocument

_EPILOG = """\b
  vestibule initdata build ./initdata --algorithm sha384 > annotation.txt
  vestibule initdata show annotation.txt
  vestibule initdata digest ./initdata -o json
  vestibule initdata verify annotation.txt --digest 1399ac5e...
"""


@click.group(epilog=_EPILOG)
def command() -> None:
    """Initdata of confidential pods: from a directory to the annotation's value, and back."""


def _algorithm(function: Any) -> Any:
    return click.option(
        "--algorithm",
        type=click.Choice(["sha256", "sha384", "sha512"]),
        default="sha256",
        show_default=True,
        help="sha256 fits SNP, sha384 fits TDX; longer digests are cut there.",
    )(function)


@command.command()
@click.argument("directory", type=click.Path(path_type=Path))
@_algorithm
@click.option("--toml", is_flag=True, help="Print the document instead of the annotation's value.")
def build(directory: Path, algorithm: str, toml: bool) -> None:
    """Build the annotation's value from a directory of files (aa.toml, cdh.toml, policy.rego, any other)."""
    from vestibule.diagnose import initdata_files
    from vestibule.initdata import document

    built = initdata_files.directory(directory, algorithm)
    _warn(built)
    click.echo(built.text if toml else document.encode(built.text), nl=not toml)


@command.command()
@click.argument("source")
@options.output("text", "json")
def show(source: str, output: str) -> None:
    """Show what is in an annotation's value, a file with one, or a document; - is standard input."""
    found = _read(source)
    if output == "json":
        click.echo(
            printer.json_text(
                {"version": found.version, "algorithm": found.algorithm, "data": dict(found.data)}
            ),
            nl=False,
        )
    else:
        click.echo(found.text, nl=not found.text.endswith("\n"))
    _warn(found)


@command.command()
@click.argument("source")
@_algorithm
@options.output("table", "json")
def digest(source: str, algorithm: str, output: str) -> None:
    """Print the digest and what SNP, TDX, CCA, SE and a vTPM show of it; SOURCE may be a directory."""
    from vestibule.initdata import measure

    shown = measure.measured(_read(source, algorithm))._asdict()
    if output == "json":
        click.echo(printer.json_text(shown), nl=False)
    else:
        printer.table(printer.console(), ["what", "value"], [tuple(map(str, pair)) for pair in shown.items()])


@command.command()
@click.argument("source")
@click.option("--digest", "expected", help="The digest it must have, hexadecimal.")
@options.output("text", "json")
def verify(source: str, expected: str | None, output: str) -> None:
    """Check that every parser accepts it with the same result, and that it contains no secret."""
    from vestibule.initdata import lint, measure
    from vestibule.initdata.document import InitdataError

    found = _read(source)
    problem = ""
    try:
        lint.refuse_secrets(found)
    except InitdataError as error:
        problem = str(error)
    has = measure.measured(found).digest
    if expected is not None and expected.lower() != has:
        problem = f"the digest is {has}, want {expected.lower()}"
    warnings = [warning._asdict() for warning in lint.warnings(found)]
    if output == "json":
        click.echo(
            printer.json_text(
                {"valid": not problem, "problem": problem, "digest": has, "warnings": warnings}
            ),
            nl=False,
        )
    else:
        click.echo(problem or f"good: {found.algorithm} {has}")
        _warn(found)
    if problem:
        sys.exit(main.EXIT_REFUSED)


def _read(source: str, algorithm: str = "sha256") -> InitdataDocument:
    from vestibule.diagnose import initdata_files

    if source == "-":
        return initdata_files.read("<stdin>", sys.stdin.read())
    path = Path(source)
    if len(source) < 1024 and path.is_dir():
        return initdata_files.directory(path, algorithm)
    if len(source) < 1024 and path.is_file():
        return initdata_files.read(source, path.read_text("utf-8"))
    return initdata_files.read("annotation", source)


def _warn(found: InitdataDocument) -> None:
    from vestibule.initdata import lint

    for warning in lint.warnings(found):
        click.secho(f"warning: {warning.text} [{warning.code}]", fg="yellow", err=True)
