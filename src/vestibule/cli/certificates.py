"""``vestibule certificates``."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule import errors
from vestibule.cli import live, options

if TYPE_CHECKING:
    from vestibule.apps.certificates.app import App

_EPILOG = """\b
In a cluster, with what it needs, beside the webhook:
  vestibule render | kubectl apply --server-side -f -
"""


@click.command(epilog=_EPILOG)
@options.kubeconfig
@click.option(
    "--settings",
    "settings_file",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The settings of the webhook; selfCertificate says what is issued.",
)
@click.option(
    "--registrations",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A JSON list of the webhook configurations that are created again when they are missing.",
)
@click.option(
    "--metrics-addr",
    default="0.0.0.0:8080",
    show_default=True,
    help="Where /healthz and /readyz are served in plain HTTP; empty: nowhere.",
)
def command(
    kubeconfig: Path | None,
    context: str | None,
    settings_file: Path,
    registrations: Path | None,
    metrics_addr: str,
) -> None:
    """Issue the certificate of the webhook and keep it trusted, until SIGTERM."""
    from vestibule.adapters import settingsfile
    from vestibule.apps.certificates import app, issuer

    settings = settingsfile.Watched(settings_file, {}, {}).settings
    if not settings.self_certificate.secret:
        problem = errors.Problem(str(settings_file), "selfCertificate.secret", "is empty, want a Secret")
        raise errors.InvalidSettings(problem)
    client = live.client(kubeconfig, context)
    identity = f"{os.environ.get('HOSTNAME') or 'certificates'}-{uuid.uuid4()}"
    _read(registrations)  # what is wrong with it now is told at once
    made = issuer.issuer(client, settings, lambda: _read(registrations), identity)
    app.run(app.App(client, made, metrics_addr), settings.serving.log_level, ready=_announce)


def _read(file: Path | None) -> list[dict[str, Any]]:
    """The registrations; raises InvalidSettings."""
    if file is None:
        return []
    try:
        found = json.loads(file.read_text())
        if all(one["metadata"]["name"] and one["webhooks"] and one["kind"] for one in found):
            return list(found)
        raise ValueError("an entry is no webhook configuration")
    except (OSError, ValueError, TypeError, KeyError) as error:
        problem = errors.Problem(str(file), "", f"is no JSON list of webhook configurations: {error}")
        raise errors.InvalidSettings(problem) from error


def _announce(app: App) -> None:
    for host, port in app.server.addresses:
        click.echo(f"serving http://{host}:{port}/readyz", err=True)
