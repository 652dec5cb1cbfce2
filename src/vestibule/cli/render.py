"""``vestibule render``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule.cli import hosted, options, printer

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
Beside a hosted control plane, with its Secrets in the same files; nothing is read from anywhere else:
  vestibule render --hosted hypershift -f hcp.yaml -f secrets.yaml --part management
  vestibule render --hosted kamaji -f tenant.yaml --attach sidecar --tenant-id 1111-...

\b
The operator instead, which then installs the webhook that objects ask for:
  vestibule render --operator | kubectl apply --server-side -f -

\b
What the API server needs to show its client certificate (install.clientCa):
  vestibule render --settings settings.toml --api-server

\b
The settings say where the certificate comes from (install.certificate), what is excluded, and what happens
while the webhook is down (webhook.failurePolicy). The same settings always print the same objects.
With --kubeconfig or --context the cluster is asked what it serves and what it has: what it does not serve is
left out with a warning on standard error, what cannot work there is an error, and nothing is written.
"""


@click.command(epilog=_EPILOG)
@click.option("--operator", is_flag=True, help="Print what the operator needs, in place of the webhook.")
@click.option(
    "--api-server",
    is_flag=False,
    flag_value="/etc/kubernetes/vestibule",
    metavar="[DIRECTORY]",
    help="Print the AdmissionConfiguration and the kubeconfig with which the API server shows us its client "
    "certificate, for a directory on its machine (default: /etc/kubernetes/vestibule).",
)
@options.sandboxes
@hosted.options
@options.output("yaml", "json")
@options.settings
@options.cwii
def command(
    operator: bool,
    api_server: str | None,
    files: tuple[str, ...],
    cluster: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    output: str,
    settings_file: Path | None,
    mode: str | None,
    flavour: str | None,
    attach: str,
    part: str,
    program: str,
    tenant_id: str,
    azure_environment: str,
    region: str,
    **cwii: Any,
) -> None:
    """Print what a cluster needs: namespace, RBAC, Deployment, Service, budget, network policy,
    registrations."""
    from vestibule.adapters import settingsfile

    settings = settingsfile.load(settings_file, options.overrides(mode, cwii))
    if operator:
        from vestibule.core.native import operator as operators

        _print(operators.objects(settings), output)
        return
    if api_server is not None:
        from vestibule.core.native import apiserver

        _print(apiserver.files(settings, api_server), output)
        return
    if flavour is not None:
        asked = hosted.Asked(flavour, attach, part, program, tenant_id, azure_environment, region)
        objects, told = hosted.run(asked, files, settings.install.image)
        _tell(told)
        _print(objects, output)
        return
    from vestibule.core.native import install

    beside = _beside(cluster, files)
    if kubeconfig is None and context is None:
        import asyncio

        from vestibule.apps.offline import sandboxes

        said = asyncio.run(sandboxes.look(settings, beside))
        objects, warnings = install.objects(settings, said.world), said.warnings
    else:
        from vestibule.cli import live

        client = live.client(kubeconfig, context)
        from vestibule.apps.offline import render

        objects, warnings = render.run(settings, client, beside)
    _tell([*install.weaknesses(settings), *warnings])
    _print(objects, output)


def _tell(warnings: Iterable[str]) -> None:
    for warning in warnings:
        click.secho(f"warning: {warning}", fg="yellow", err=True)


def _print(objects: list[dict[str, Any]], output: str) -> None:
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
