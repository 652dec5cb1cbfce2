"""``vestibule broker``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import click

from vestibule.cli import options, printer

_EPILOG = """\b
An operator from a catalogue brings a CredentialsRequest that names its own identity:
  vestibule broker --cloud azure -f ./requests --issuer https://issuer.example/c1 | kubectl apply -f -

\b
Requests that name nothing are served by `vestibule azure`, `aws` and `gcp`; those that name half of an
identity are an error that lists what is missing. These Secrets contain nothing secret: a token file, and
the identity that it is for.
"""


@click.command(epilog=_EPILOG)
@click.option(
    "-f",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Directory with CredentialsRequest manifests (*.yaml, *.yml; not recursive).",
)
@click.option("--cloud", type=click.Choice(["azure", "aws", "gcp"]), required=True)
@click.option("--issuer", required=True, metavar="URL", help="Issuer of the cluster's tokens.")
@click.option(
    "--enable-tech-preview", "tech_preview", is_flag=True, help="Include those of the tech preview."
)
@options.output("yaml", "json")
def command(folder: Path, cloud: str, issuer: str, tech_preview: bool, output: str) -> None:
    """Print the Secrets of CredentialsRequests that name their own identity."""
    from vestibule.api import credentials_secret
    from vestibule.api.credentialsrequest import Cloud
    from vestibule.errors import InputProblem, InvalidInput
    from vestibule.provision import credentials_requests

    chosen = cast(Cloud, cloud)
    found = credentials_requests.load(folder, chosen, tech_preview=tech_preview)
    secrets: list[Any] = []
    problems: list[InputProblem] = []
    for one in found.skipped:
        click.echo(f"skipped: {one.place}: {one.name} {one.why}", err=True)
    for request in found.requests:
        brokered = credentials_secret.broker(request, chosen, mode="Manual", issuer=issuer)
        if brokered.failure:
            problems.append(
                InputProblem(request.place, f"CredentialsRequest {request.name}", brokered.failure)
            )
        elif brokered.secret is None:
            click.echo(f"skipped: {request.place}: {request.name} names no identity of its own", err=True)
        else:
            secrets.append(brokered.secret)
    if problems:
        raise InvalidInput(*problems)
    sys.stdout.write(printer.json_text(secrets) if output == "json" else printer.yaml_text(secrets))
