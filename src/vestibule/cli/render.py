"""``vestibule render``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vestibule.cli import options, printer

_EPILOG = """\b
Look before you apply:
  vestibule render --settings settings.toml | kubectl diff -f -
  vestibule render --settings settings.toml | kubectl apply --server-side -f -

\b
The settings say where the certificate comes from (install.certificate), what is excluded, and what happens
while the webhook is down (webhook.failurePolicy). The same settings always print the same objects.
"""


@click.command(epilog=_EPILOG)
@options.output("yaml", "json")
@options.settings
@options.cwii
def command(output: str, settings_file: Path | None, mode: str | None, **cwii: Any) -> None:
    """Print what a cluster needs: namespace, RBAC, Deployment, Service, budget, network policy,
    registration."""
    from vestibule.adapters import settingsfile
    from vestibule.core.native import install

    settings = settingsfile.load(settings_file, options.overrides(mode, cwii))
    objects = install.objects(settings)
    if output == "json":
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        click.echo(printer.json_text(listed), nl=False)
    else:
        click.echo(printer.yaml_text(objects), nl=False)
