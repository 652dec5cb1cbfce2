"""``create-key-pair``, which is the same for every cloud."""

from __future__ import annotations

from pathlib import Path

import click

from vestibule.cli.provisioning import flags, shown


@click.command("create-key-pair")
@flags.all_of(flags.OUTPUT_DIR, flags.OUTPUT)
def key_pair(output_dir: Path, output: str) -> None:
    """Make the keys that sign ServiceAccount tokens: 4096-bit RSA, private from birth.

    A private key that exists is kept; its public half and the installer's copy are written if they are
    missing.
    """
    from vestibule.apps.provision.outputs import Output

    files = Output(output_dir)
    made = files.key_pair()
    if not made and output != "json":
        click.echo("the private key exists: kept", err=True)
    shown.result(output, files=files.written)
