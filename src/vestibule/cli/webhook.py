"""``vestibule webhook``."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule.cli import kubeclient, options
from vestibule.cli.compat import upstream_webhooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from vestibule.compat import goflags
    from vestibule.settingsfile import WatchedSettings
    from vestibule.webhook.app import WebhookProcess

_EPILOG = """\b
Without a cluster, from a directory of manifests:
  vestibule webhook --cluster ./manifests --addr 127.0.0.1:8443 --self-signed
  curl -k https://127.0.0.1:8443/readyz

\b
In place of another webhook, with the flags that its Deployment has:
  vestibule webhook --as azwi --health-addr=:9440 --log-level=info
  vestibule webhook --as azwi --help

\b
Every flag of cwii and its variable are accepted: --gcp-delivery is CWII_GCP_DELIVERY.
The settings file is reloaded on change; an invalid one is reported and the last valid one stays in use.
"""


@click.command(cls=upstream_webhooks.CompatCommand, epilog=_EPILOG)
@click.option(
    "--cluster",
    type=click.Path(path_type=Path),
    help="Use this directory of manifests instead of a live cluster; reloaded on change.",
)
@options.kubeconfig
@click.option(
    "--as",
    "program",
    type=click.Choice(upstream_webhooks.PROGRAMS),
    help="Replace another webhook: accept its flags and variables unchanged.",
)
@click.option("--self-signed", is_flag=True, help="Create a temporary self-signed certificate.")
@click.option(
    "--metrics-addr", metavar="VALUE", help="Where /metrics is served in plain HTTP; empty: nowhere."
)
@click.option(
    "--client-ca", metavar="VALUE", help="Serve only callers with a certificate of this CA (PEM file)."
)
@options.settings
@options.cwii
def command(
    cluster: Path | None,
    kubeconfig: Path | None,
    context: str | None,
    program: str | None,
    self_signed: bool,
    metrics_addr: str | None,
    client_ca: str | None,
    settings_file: Path | None,
    mode: str | None,
    **cwii: Any,
) -> None:
    """Serve admission reviews over HTTPS."""
    from vestibule import settingsfile
    from vestibule.compat import cwii_flags
    from vestibule.kube.manifest_directory import DirectoryCluster
    from vestibule.telemetry import logs
    from vestibule.webhook import app

    over = options.overrides(mode, cwii)
    meaning: goflags.FlagSettings | None = click.get_current_context().obj if program is not None else None
    if meaning is not None:
        kubeconfig = kubeconfig or _path(meaning.kubeconfig)
        over = cwii_flags.merged(meaning.over, over)
    serving: dict[str, Any] = over.setdefault("serving", {})
    if metrics_addr is not None:
        serving["metricsAddr"] = metrics_addr
    if client_ca is not None:
        serving["clientCa"] = client_ca
    level = cwii_flags.log_level(os.environ.get("RUST_LOG", ""))
    if level:
        serving["logLevel"] = level
    with tempfile.TemporaryDirectory(prefix="vestibule-") as scratch:
        if self_signed:
            serving |= _throw_away(Path(scratch))

        def settings() -> settingsfile.WatchedSettings:
            with upstream_webhooks.naming(meaning):
                return settingsfile.WatchedSettings(
                    settings_file, over, {} if meaning is None else meaning.under
                )

        if cluster is not None:
            directory = DirectoryCluster(cluster)
            directory.load()
            webhook = app.WebhookProcess(settings(), directory)
        else:
            webhook = _live(settings, kubeconfig, context)
        if meaning is not None:
            logs.configure(webhook.log_level)
            upstream_webhooks.report_ignored(meaning)
        app.run(webhook, webhook.log_level, ready=_announce)


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _live(
    watched: Callable[[], WatchedSettings], kubeconfig: Path | None, context: str | None
) -> WebhookProcess:
    """The process over a live cluster."""
    settings = watched().settings
    kube = kubeclient.client(kubeconfig, context)
    from vestibule.kube.live_cluster import LiveCluster
    from vestibule.webhook import app

    return app.WebhookProcess(watched(), LiveCluster(kube, forgiving=settings.on_forbidden == "pass-over"))


def _throw_away(directory: Path) -> dict[str, str]:
    from vestibule.pki import leaf

    pair = leaf.self_signed(["localhost", "127.0.0.1", "::1"], now=datetime.now(UTC), days=1)
    certificate, key = directory / "tls.crt", directory / "tls.key"
    certificate.write_text(pair.certificate)
    descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(pair.key)
    return {"tlsCert": str(certificate), "tlsKey": str(key)}


def _announce(webhook: WebhookProcess) -> None:
    for host, port in webhook.server.addresses:
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"serving https://{shown}:{port}/mutate", err=True)
