"""``vestibule oidc create-key-pair``."""

from __future__ import annotations

from pathlib import Path

import click

from vestibule.cli import options, printer

_EPILOG = """\b
  vestibule oidc create-key-pair --output-dir ./keys

\b
The private key is readable by you alone from its first byte on, whatever the umask, and is never shown.
Nothing is overwritten: a directory that has a key already is refused.
Exit codes: 0 success, 1 a file cannot be written, 2 there is a key already.
"""


@click.command("create-key-pair", epilog=_EPILOG)
@click.option(
    "--output-dir",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Output directory; default: the current one.",
)
@click.option(
    "--bits",
    type=click.Choice(["2048", "3072", "4096"]),
    default="4096",
    show_default=True,
    help="Size of the RSA key.",
)
@options.output("text", "json")
def create_key_pair(output_dir: Path, bits: str, output: str) -> None:
    """Create the RSA key pair that signs ServiceAccount tokens, in two PEM files."""
    from vestibule.provision import keypair

    created = keypair.create(output_dir, bits=int(bits))
    if output == "json":
        report = {
            "private": str(created.private),
            "public": str(created.public),
            "kid": created.key.kid,
            "bits": created.key.bits,
        }
        click.echo(printer.json_text(report), nl=False)
        return
    click.echo(f"private key {created.private}: give it to the API server alone")
    click.echo(f"public key  {created.public}: publish it")
    click.echo(f"kid         {created.key.kid}")
