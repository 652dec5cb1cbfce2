"""``vestibule webhook``."""

from __future__ import annotations

import os
import tempfile
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule.cli import live, options, standin

if TYPE_CHECKING:
    from vestibule.apps.webhook.app import App

_EPILOG = """\b
Without a cluster, from a directory of manifests:
  vestibule webhook --cluster ./manifests --addr 127.0.0.1:8443 --self-signed
  curl -k https://127.0.0.1:8443/readyz

\b
Every flag of cwii works as it is, and so does its variable: --gcp-delivery is CWII_GCP_DELIVERY.
The settings file is read again when it changes; a bad one is reported and the last good one stays.
"""


@click.command(cls=standin.Command, epilog=_EPILOG)
@click.option(
    "--cluster",
    type=click.Path(path_type=Path),
    help="Serve from this directory of manifests instead of a live cluster; read again on change.",
)
@options.kubeconfig
@click.option(
    "--as",
    "program",
    type=click.Choice(standin.PROGRAMS),
    help="Stand in for another webhook: its flags and variables follow, as they are.",
)
@click.option("--self-signed", is_flag=True, help="Make a throw-away certificate in a temporary directory.")
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
    """Serve admission reviews over HTTPS, until SIGTERM."""
    from vestibule.adapters.cluster.manifests import DirectoryCluster
    from vestibule.apps.webhook import app
    from vestibule.core.kinds import upstream

    over = options.overrides(mode, cwii)
    if program is not None:
        given: dict[str, Any] = click.get_current_context().obj
        kubeconfig = kubeconfig or _path(given.pop("kubeconfig", ""))
        over = upstream.merged(over, given)
    serving: dict[str, Any] = over.setdefault("serving", {})
    if metrics_addr is not None:
        serving["metricsAddr"] = metrics_addr
    if client_ca is not None:
        serving["clientCa"] = client_ca
    level = upstream.log_level(os.environ.get("RUST_LOG", ""))
    if level:
        serving["logLevel"] = level
    with tempfile.TemporaryDirectory(prefix="vestibule-") as scratch:
        if self_signed:
            serving |= _throw_away(Path(scratch))
        if cluster is not None:
            directory = DirectoryCluster(cluster)
            directory.load()
            webhook = app.App(settings_file, over, directory)
        else:
            webhook = _live(settings_file, over, kubeconfig, context, Path(scratch))
        app.run(webhook, webhook.log_level, ready=_announce)


def _path(text: str) -> Path | None:
    return Path(text) if text else None


def _live(
    settings_file: Path | None,
    over: dict[str, Any],
    kubeconfig: Path | None,
    context: str | None,
    scratch: Path,
) -> App:
    """The process over a live cluster, with a certificate of its own where the settings ask for one."""
    made = live.client(kubeconfig, context)
    from vestibule.adapters import settingsfile
    from vestibule.adapters.cluster.live import LiveCluster
    from vestibule.apps.webhook import app

    cluster = LiveCluster(made)
    settings = settingsfile.load(settings_file, over)
    if not settings.self_certificate.secret:
        return app.App(settings_file, over, cluster)
    from vestibule.apps.webhook import selfcert

    over["serving"] |= {"tlsCert": str(scratch / "tls.crt"), "tlsKey": str(scratch / "tls.key")}
    identity = f"{os.environ.get('HOSTNAME') or 'vestibule'}-{uuid.uuid4()}"
    return app.App(settings_file, over, cluster, selfcert.keeper(made, settings, scratch, identity))


def _throw_away(directory: Path) -> dict[str, str]:
    from vestibule.core.pki import leaf

    pair = leaf.self_signed(["localhost", "127.0.0.1", "::1"], now=datetime.now(UTC), days=1)
    certificate, key = directory / "tls.crt", directory / "tls.key"
    certificate.write_text(pair.certificate)
    descriptor = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(pair.key)
    return {"tlsCert": str(certificate), "tlsKey": str(key)}


def _announce(webhook: App) -> None:
    for host, port in webhook.server.addresses:
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"serving https://{shown}:{port}/mutate", err=True)
