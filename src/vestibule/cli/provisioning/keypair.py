"""``create-key-pair``, which is the same for every cloud."""

from __future__ import annotations

from pathlib import Path

import click

from vestibule.cli.provisioning import flags, plan_format


@click.command("create-key-pair")
@flags.of(None, "create-key-pair", ["--output-dir", "--output"])
def key_pair(output_dir: Path, output: str) -> None:
    """Create the key pair that signs ServiceAccount tokens: 4096-bit RSA, file mode 0600 from the start.

    A private key that exists is kept; its public half and the installer's copy are written if they are
    missing.
    """
    from vestibule.provision.outputs import Output

    files = Output(output_dir)
    made = files.key_pair()
    if not made and output != "json":
        click.echo("the private key exists: kept", err=True)
    plan_format.result(output, files=files.written)
