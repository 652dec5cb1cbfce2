"""``vestibule operator``."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vestibule.cli import live, options

if TYPE_CHECKING:
    from vestibule.apps.operator.app import App

_EPILOG = """\b
In a cluster, with what it needs:
  vestibule render --operator | kubectl apply --server-side -f -

\b
On your own machine, for the cluster of a context, as the only one:
  vestibule operator --context staging --namespace vestibule-system --no-leader-elect

\b
One object asks for the webhook:
  kubectl apply -f - <<END
  apiVersion: vestibule.dev/v1alpha1
  kind: VestibuleWebhook
  metadata: {name: vestibule}
  spec: {image: registry.example/vestibule:1.0}
  END
"""


@click.command(epilog=_EPILOG)
@options.kubeconfig
@click.option(
    "--namespace",
    envvar="POD_NAMESPACE",
    default="vestibule-system",
    show_default=True,
    help="Where the lease is, and where the webhook is installed.",
)
@click.option(
    "--image", envvar="VESTIBULE_IMAGE", default="", help="Of the webhook, where an object names none."
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Look after this VestibuleWebhook alone; can be given several times.",
)
@click.option(
    "--issuers/--no-issuers",
    default=True,
    show_default=True,
    help="Look after PublishedIssuers; one operator of a cluster is enough.",
)
@click.option(
    "--issuer-host",
    "issuer_hosts",
    multiple=True,
    metavar="HOST",
    help="Send our Azure login to this host, too, where a PublishedIssuer names it; several times.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Stand for election; without it this must be the only process.",
)
@click.option("--lease", default="vestibule-operator", show_default=True, help="Name of the Lease.")
@click.option(
    "--metrics-addr",
    default="0.0.0.0:8080",
    show_default=True,
    help="Where /metrics, /healthz and /readyz are served in plain HTTP; empty: nowhere.",
)
@click.option("--hosted", is_flag=True, help="Look after HostedWebhooks beside hosted control planes, too.")
@click.option(
    "--hosted-namespace",
    "hosted_namespaces",
    multiple=True,
    metavar="NAME",
    help="With --hosted: in this namespace; can be given several times.",
)
@click.option(
    "--hosted-all-namespaces",
    is_flag=True,
    help="With --hosted: in every namespace, which needs the right to every Secret.",
)
@click.option("--aro", is_flag=True, help="Look after ARO HCP clusters (AROCluster and its kin), too.")
@click.option(
    "--aro-watch-filter",
    default="",
    metavar="VALUE",
    help="With --aro: only objects whose label cluster.x-k8s.io/watch-filter has this value.",
)
@click.option(
    "--aro-webhook",
    default="",
    metavar="SERVICE|URL",
    help="With --aro: check these objects when they are written, at this Service or address.",
)
@click.option(
    "--aro-webhook-addr",
    default="0.0.0.0:9443",
    show_default=True,
    help="With --aro-webhook: where HTTPS is served.",
)
@click.option(
    "--aro-kind",
    "aro_kinds",
    multiple=True,
    metavar="GROUP/KIND/PLURAL",
    help="With --aro: a kind of Azure Service Operator that may be embedded besides those that clusters are "
    "made of; can be given several times.",
)
@click.option(
    "--azure-cloud",
    default="",
    metavar="NAME|FILE",
    help="With --aro: the Azure of all vaults, in the place of what the objects name.",
)
@click.option(
    "--allow-loopback",
    is_flag=True,
    help="For tests on one machine: call clusters that objects name at loopback addresses, too.",
)
@click.option(
    "--workers", type=click.IntRange(1, 64), default=4, show_default=True, help="Objects looked at at once."
)
@click.option(
    "--resync",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="Seconds between two looks at an object at which nothing happens.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="Lowest level that is logged.",
)
def command(
    kubeconfig: Path | None,
    context: str | None,
    namespace: str,
    image: str,
    only: tuple[str, ...],
    issuers: bool,
    issuer_hosts: tuple[str, ...],
    leader_elect: bool,
    lease: str,
    metrics_addr: str,
    hosted: bool,
    hosted_namespaces: tuple[str, ...],
    hosted_all_namespaces: bool,
    aro: bool,
    aro_watch_filter: str,
    aro_webhook: str,
    aro_webhook_addr: str,
    aro_kinds: tuple[str, ...],
    azure_cloud: str,
    allow_loopback: bool,
    workers: int,
    resync: float,
    log_level: str,
) -> None:
    """Install the webhook that objects ask for, and keep it, until SIGTERM."""
    if hosted and bool(hosted_namespaces) == hosted_all_namespaces:
        raise click.UsageError("--hosted wants one of --hosted-namespace and --hosted-all-namespaces")
    if not hosted and (hosted_namespaces or hosted_all_namespaces):
        raise click.UsageError("--hosted-namespace and --hosted-all-namespaces are for --hosted")
    client = live.client(kubeconfig, context)
    from vestibule.apps.operator import app

    identity = f"{os.environ.get('HOSTNAME') or 'operator'}-{uuid.uuid4()}"
    wanted = app.Options(
        namespace=namespace,
        identity=identity,
        image=image,
        lease=lease if leader_elect else "",
        metrics_addr=metrics_addr,
        only=frozenset(only),
        issuers=issuers,
        issuer_hosts=issuer_hosts,
        workers=workers,
        resync=resync,
        hosted=hosted,
        hosted_namespaces=hosted_namespaces,
        aro=aro,
        aro_filter=aro_watch_filter,
        aro_webhook=aro_webhook,
        aro_webhook_addr=aro_webhook_addr,
        aro_kinds=aro_kinds,
        azure_cloud=azure_cloud,
        loopback=allow_loopback,
    )
    app.run(app.App(client, wanted), log_level, ready=_announce)


def _announce(operator: App) -> None:
    for host, port in operator.server.addresses:
        click.echo(f"serving http://{host}:{port}/readyz", err=True)
