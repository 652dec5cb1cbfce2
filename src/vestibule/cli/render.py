"""``vestibule render``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule.cli import hosted, options, printer

if TYPE_CHECKING:
    from vestibule.kube.memory_cluster import MemoryCluster

_EPILOG = """\b
Compare before you apply:
  vestibule render --settings settings.toml | kubectl diff -f -
  vestibule render --settings settings.toml | kubectl apply --server-side -f -

\b
For one cluster, adapted to it:
  vestibule render --settings settings.toml --kubeconfig
  vestibule render --settings settings.toml --context staging

\b
With the webhook configuration for sandboxes, from a KataConfig in the cluster or in a file:
  vestibule render --settings settings.toml --kubeconfig
  vestibule render --settings settings.toml -f kataconfig.yaml

\b
For a hosted control plane, with its Secrets in the same files; nothing else is read:
  vestibule render --hosted hypershift -f hcp.yaml -f secrets.yaml --part management
  vestibule render --hosted kamaji -f tenant.yaml --attach sidecar --tenant-id 1111-...

\b
The operator, which installs the webhook for VestibuleWebhook objects:
  vestibule render --operator | kubectl apply --server-side -f -

\b
What the API server needs to present its client certificate (install.clientCa):
  vestibule render --settings settings.toml --api-server

\b
The settings say where the certificate comes from (install.certificate), what is excluded, and what happens
while the webhook is down (webhook.failurePolicy). The same settings always print the same objects.
With --kubeconfig or --context the output is adapted to the cluster: kinds that it does not serve are left out
with a warning on standard error, what cannot work there is an error, and nothing is written.
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--operator", is_flag=True, help="Print the manifests of the operator instead of the webhook's."
)
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
    platform: str | None,
    attach: str,
    part: str,
    program: str,
    tenant_id: str,
    azure_environment: str,
    region: str,
    **cwii: Any,
) -> None:
    """Print what a cluster needs: namespace, RBAC, Deployment, Service, budget, network policy,
    webhook configurations."""
    from vestibule import settingsfile

    settings = settingsfile.load(settings_file, options.overrides(mode, cwii))
    if operator:
        from vestibule.manifests import operator as operators

        _print(operators.objects(settings), output)
        return
    if api_server is not None:
        from vestibule.manifests import apiserver_client_certificate

        _print(apiserver_client_certificate.files(settings, api_server), output)
        return
    if platform is not None:
        hosted_options = hosted.HostedOptions(
            platform, attach, part, program, tenant_id, azure_environment, region
        )
        objects, notes = hosted.run(hosted_options, files, settings.install.image)
        _print_warnings(notes)
        _print(objects, output)
        return
    from vestibule.manifests import install

    overrides = _read_inputs(cluster, files)
    if kubeconfig is None and context is None:
        import asyncio

        from vestibule.diagnose.offline import sandbox_sources

        sources = asyncio.run(sandbox_sources.read_sources(settings, overrides))
        objects, warnings = install.objects(settings, sources.kata_policy), sources.warnings
    else:
        from vestibule.cli import kubeclient

        client = kubeclient.client(kubeconfig, context)
        from vestibule.diagnose.offline import render

        objects, warnings = render.run(settings, client, overrides)
    _print_warnings([*install.weaknesses(settings), *warnings])
    _print(objects, output)


def _print_warnings(warnings: Iterable[str]) -> None:
    for warning in warnings:
        click.secho(f"warning: {warning}", fg="yellow", err=True)


def _print(objects: list[dict[str, Any]], output: str) -> None:
    if output == "json":
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        click.echo(printer.json_text(listed), nl=False)
    else:
        click.echo(printer.yaml_text(objects), nl=False)


def _read_inputs(cluster: Path | None, files: tuple[str, ...]) -> MemoryCluster:
    """The policy sources in a directory and files; raises InvalidInput with all problems."""
    from vestibule.diagnose.offline import manifest_files, policy_loader
    from vestibule.kube.manifest_directory import DirectoryCluster

    kata_policy = None
    if cluster is not None:
        kata_policy = DirectoryCluster(cluster)
        kata_policy.load()
    return policy_loader.objects(kata_policy, manifest_files.read(files, sys.stdin.buffer) if files else [])
