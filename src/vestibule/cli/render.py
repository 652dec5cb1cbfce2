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
For one cluster, as it is:
  vestibule render --settings settings.toml --kubeconfig
  vestibule render --settings settings.toml --context staging

\b
The settings say where the certificate comes from (install.certificate), what is excluded, and what happens
while the webhook is down (webhook.failurePolicy). The same settings always print the same objects.
With --kubeconfig or --context the cluster is asked what it serves and what it has: what it does not serve is
left out with a warning on standard error, what cannot work there is an error, and nothing is written.
"""


@click.command(epilog=_EPILOG)
@options.kubeconfig
@options.output("yaml", "json")
@options.settings
@options.cwii
def command(
    kubeconfig: Path | None,
    context: str | None,
    output: str,
    settings_file: Path | None,
    mode: str | None,
    **cwii: Any,
) -> None:
    """Print what a cluster needs: namespace, RBAC, Deployment, Service, budget, network policy,
    registration."""
    from vestibule.adapters import settingsfile
    from vestibule.core.native import install

    settings = settingsfile.load(settings_file, options.overrides(mode, cwii))
    if kubeconfig is None and context is None:
        objects = install.objects(settings)
    else:
        from vestibule.cli import live

        client = live.client(kubeconfig, context)
        from vestibule.apps.offline import render

        objects, warnings = render.run(settings, client)
        for warning in warnings:
            click.secho(f"warning: {warning}", fg="yellow", err=True)
    if output == "json":
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        click.echo(printer.json_text(listed), nl=False)
    else:
        click.echo(printer.yaml_text(objects), nl=False)
