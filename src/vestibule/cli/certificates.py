"""``vestibule certificates``."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule import errors
from vestibule.cli import kubeclient, options

if TYPE_CHECKING:
    from vestibule.operator.certificates.process import CertificatesProcess

_EPILOG = """\b
Install it in a cluster together with the webhook:
  vestibule render | kubectl apply --server-side -f -
"""


@click.command(epilog=_EPILOG)
@options.kubeconfig
@click.option(
    "--settings",
    "settings_file",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Settings of the webhook; selfCertificate says what is issued.",
)
@click.option(
    "--registrations",
    "configurations",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON list of webhook configurations to restore when they are missing.",
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
    configurations: Path | None,
    metrics_addr: str,
) -> None:
    """Issue and rotate the serving certificate of the webhook, and keep the caBundle current."""
    from vestibule import settingsfile
    from vestibule.operator.certificates import issuer, process

    settings = settingsfile.WatchedSettings(settings_file, {}, {}).settings
    if not settings.self_certificate.secret:
        problem = errors.InputProblem(str(settings_file), "selfCertificate.secret", "is empty, want a Secret")
        raise errors.InvalidSettings(problem)
    client = kubeclient.client(kubeconfig, context)
    identity = f"{os.environ.get('HOSTNAME') or 'certificates'}-{uuid.uuid4()}"
    _read(configurations)  # problems are reported at the start
    certificate_issuer = issuer.issuer(client, settings, lambda: _read(configurations), identity)
    process.run(
        process.CertificatesProcess(client, certificate_issuer, metrics_addr),
        settings.serving.log_level,
        ready=_announce,
    )


def _read(file: Path | None) -> list[dict[str, Any]]:
    """The webhook configurations; raises InvalidSettings."""
    if file is None:
        return []
    try:
        found = json.loads(file.read_text())
        if all(one["metadata"]["name"] and one["webhooks"] and one["kind"] for one in found):
            return list(found)
        raise ValueError("an entry is no webhook configuration")
    except (OSError, ValueError, TypeError, KeyError) as error:
        problem = errors.InputProblem(str(file), "", f"is no JSON list of webhook configurations: {error}")
        raise errors.InvalidSettings(problem) from error


def _announce(app: CertificatesProcess) -> None:
    for host, port in app.server.addresses:
        click.echo(f"serving http://{host}:{port}/readyz", err=True)
