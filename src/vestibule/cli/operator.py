"""``vestibule operator``."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vestibule.cli import kubeclient, options

if TYPE_CHECKING:
    from vestibule.operator.app import OperatorProcess

_EPILOG = """\b
Install it in a cluster:
  vestibule render --operator | kubectl apply --server-side -f -

\b
Run it on your own machine against a context, as the only replica:
  vestibule operator --context staging --namespace vestibule-system --no-leader-elect

\b
Request the webhook with one object:
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
    help="Namespace of the Lease and of the webhook.",
)
@click.option(
    "--image", envvar="VESTIBULE_IMAGE", default="", help="Image of the webhook, for objects that name none."
)
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Reconcile only this VestibuleWebhook; may be repeated.",
)
@click.option(
    "--issuers/--no-issuers",
    default=True,
    show_default=True,
    help="Reconcile PublishedIssuers; one operator per cluster is enough.",
)
@click.option(
    "--issuer-host",
    "issuer_hosts",
    multiple=True,
    metavar="HOST",
    help="Host that may receive the operator's Azure login when a PublishedIssuer names it; may be repeated.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Use leader election; without it this must be the only replica.",
)
@click.option("--lease", default="vestibule-operator", show_default=True, help="Name of the Lease.")
@click.option(
    "--metrics-addr",
    default="0.0.0.0:8080",
    show_default=True,
    help="Where /metrics, /healthz and /readyz are served in plain HTTP; empty: nowhere.",
)
@click.option("--hosted", is_flag=True, help="Also reconcile HostedWebhooks (hosted control planes).")
@click.option(
    "--hosted-namespace",
    "hosted_namespaces",
    multiple=True,
    metavar="NAME",
    help="With --hosted: reconcile in this namespace; may be repeated.",
)
@click.option(
    "--hosted-all-namespaces",
    is_flag=True,
    help="With --hosted: reconcile in every namespace; needs permission for every Secret.",
)
@click.option(
    "--aro",
    is_flag=True,
    help="Also reconcile ARO HCP clusters (AROCluster, AROControlPlane, AROMachinePool).",
)
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
    help="With --aro: validate these objects at admission, through this Service or address.",
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
    help="With --aro: a further kind of Azure Service Operator that may be embedded; may be repeated.",
)
@click.option(
    "--azure-cloud",
    default="",
    metavar="NAME|FILE",
    help="With --aro: the Azure cloud of all vaults, instead of the one that objects name.",
)
@click.option(
    "--allow-loopback",
    is_flag=True,
    help="For tests on one machine: also call clusters at loopback addresses.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Maximum number of concurrent reconciles.",
)
@click.option(
    "--resync",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="Seconds between two reconciles of an object without changes.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="Lowest log level.",
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
    """Run the operator: reconcile VestibuleWebhook, HostedWebhook, PublishedIssuer and ARO resources."""
    if hosted and bool(hosted_namespaces) == hosted_all_namespaces:
        raise click.UsageError("--hosted wants one of --hosted-namespace and --hosted-all-namespaces")
    if not hosted and (hosted_namespaces or hosted_all_namespaces):
        raise click.UsageError("--hosted-namespace and --hosted-all-namespaces are for --hosted")
    client = kubeclient.client(kubeconfig, context)
    from vestibule.operator import app

    identity = f"{os.environ.get('HOSTNAME') or 'operator'}-{uuid.uuid4()}"
    operator_options = app.OperatorOptions(
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
    app.run(app.OperatorProcess(client, operator_options), log_level, ready=_announce)


def _announce(operator: OperatorProcess) -> None:
    for host, port in operator.server.addresses:
        click.echo(f"serving http://{host}:{port}/readyz", err=True)
