"""``vestibule render``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule.cli import options, printer

if TYPE_CHECKING:
    from vestibule.adapters.cluster.memory import MemoryCluster

_EPILOG = """\b
Look before you apply:
  vestibule render --settings settings.toml | kubectl diff -f -
  vestibule render --settings settings.toml | kubectl apply --server-side -f -

\b
For one cluster, as it is:
  vestibule render --settings settings.toml --kubeconfig
  vestibule render --settings settings.toml --context staging

\b
With the registration for sandboxes, from a KataConfig that stands in the cluster or in a file:
  vestibule render --settings settings.toml --kubeconfig
  vestibule render --settings settings.toml -f kataconfig.yaml

\b
The settings say where the certificate comes from (install.certificate), what is excluded, and what happens
while the webhook is down (webhook.failurePolicy). The same settings always print the same objects.
With --kubeconfig or --context the cluster is asked what it serves and what it has: what it does not serve is
left out with a warning on standard error, what cannot work there is an error, and nothing is written.
"""


@click.command(epilog=_EPILOG)
@options.sandboxes
@options.output("yaml", "json")
@options.settings
@options.cwii
def command(
    files: tuple[str, ...],
    cluster: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    output: str,
    settings_file: Path | None,
    mode: str | None,
    **cwii: Any,
) -> None:
    """Print what a cluster needs: namespace, RBAC, Deployment, Service, budget, network policy,
    registrations."""
    from vestibule.adapters import settingsfile

    settings = settingsfile.load(settings_file, options.overrides(mode, cwii))
    beside = _beside(cluster, files)
    if kubeconfig is None and context is None:
        import asyncio

        from vestibule.apps.offline import sandboxes
        from vestibule.core.native import install

        said = asyncio.run(sandboxes.look(settings, beside))
        objects, warnings = install.objects(settings, said.world), said.warnings
    else:
        from vestibule.cli import live

        client = live.client(kubeconfig, context)
        from vestibule.apps.offline import render

        objects, warnings = render.run(settings, client, beside)
    for warning in warnings:
        click.secho(f"warning: {warning}", fg="yellow", err=True)
    if output == "json":
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        click.echo(printer.json_text(listed), nl=False)
    else:
        click.echo(printer.yaml_text(objects), nl=False)


def _beside(cluster: Path | None, files: tuple[str, ...]) -> MemoryCluster:
    """What a directory and files say beside the settings; raises InvalidInput with all problems."""
    from vestibule.adapters.cluster.manifests import DirectoryCluster
    from vestibule.apps.offline import beside, documents

    world = None
    if cluster is not None:
        world = DirectoryCluster(cluster)
        world.load()
    return beside.objects(world, documents.read(files, sys.stdin.buffer) if files else [])
