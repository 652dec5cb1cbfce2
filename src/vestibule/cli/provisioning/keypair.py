"""``create-key-pair``, which is the same for every cloud."""

from __future__ import annotations

from pathlib import Path

import click

from vestibule.cli.provisioning import flags, plan_format


@click.command("create-key-pair")
@flags.of(None, "create-key-pair", ["--output-dir", "--output"])
def key_pair(output_dir: Path, output: str) -> None:
    """Create the key pair that signs ServiceAccount tokens: 4096-bit RSA, file mode 0600 from the start.

    An existing private key is not changed; its public half and the installer's copy are written if they are
    missing.
    """
    from vestibule.provision.outputs import Output

    files = Output(output_dir)
    created = files.key_pair()
    if not created and output != "json":
        click.echo("the private key exists: not changed", err=True)
    plan_format.result(output, files=files.written)
