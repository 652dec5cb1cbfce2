"""``vestibule doctor``."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule import errors
from vestibule.cli import checks as shown
from vestibule.cli import inputs, live, main, options, printer

if TYPE_CHECKING:
    from vestibule.apps.doctor.question import Account, Given

_EPILOG = """\b
A cluster: its issuer, its webhook, and every pod that runs without the identity it asks for:
  vestibule doctor --kubeconfig
  vestibule doctor --context staging --namespace team-a -o json

\b
Whether AWS would take the tokens of a ServiceAccount (a token is made, looked at and thrown away):
  vestibule doctor --kubeconfig --service-account team-a/app --cloud aws

\b
A token as a container sees it, and the issuer as the cloud knows it; no cluster is needed:
  vestibule doctor --token /var/run/secrets/cwii.dev/aws/token --issuer https://oidc.example/c1
  kubectl create token app --audience api://AzureADTokenExchange | vestibule doctor --token - --cloud az

\b
In a pod the cluster around it is looked at. Tokens are never shown, and nothing is written.
Exit code 3: at least one check failed. Every id is explained in docs/doctor.md.
"""


def _clouds(given: tuple[str, ...]) -> tuple[str, ...]:
    for name in given:
        if name not in ("aws", "az", "gcp"):
            raise click.BadParameter(f"is {name!r}, want aws, az or gcp", param_hint="--cloud")
    return given


@click.command(epilog=_EPILOG)
@options.kubeconfig
@click.option(
    "--token", "token_file", metavar="FILE", help="A ServiceAccount token to look at; - for standard input."
)
@click.option(
    "--issuer", default="", metavar="URL", help="The issuer as the cloud was told; default: the cluster's."
)
@click.option(
    "--ca-bundle",
    type=click.Path(path_type=Path),
    help="PEM file of the authorities to trust for the issuer; default: those of this machine.",
)
@click.option(
    "--service-account", metavar="NAMESPACE/NAME", help="Make a fresh token of this account and look at it."
)
@click.option(
    "--cloud",
    "clouds",
    metavar="[aws|az|gcp]",
    multiple=True,
    callback=lambda _, __, given: _clouds(given),
    help="The cloud that should take the token; may be repeated. Default: by the token's audience.",
)
@click.option(
    "--audience", default="", help="The audience that the cloud was told, where it is not the usual one."
)
@click.option(
    "--subject", default="", help="The subject that the cloud trusts; default: the ServiceAccount's own."
)
@options.pods
@click.option("--pods/--no-pods", default=True, show_default=True, help="Go through the pods of the cluster.")
@options.output("table", "json")
@options.settings
@options.cwii
def command(
    kubeconfig: Path | None,
    context: str | None,
    token_file: str | None,
    issuer: str,
    ca_bundle: Path | None,
    service_account: str | None,
    clouds: tuple[Any, ...],  # providers; the callback has looked
    audience: str,
    subject: str,
    namespace: str,
    configuration: str,
    pods: bool,
    output: str,
    settings_file: Path | None,
    mode: str | None,
    **cwii: Any,
) -> None:
    """Find out why a pod has no identity: issuer, token, clock, webhook, certificate, and pods that missed
    it."""
    in_pod = bool(os.environ.get("KUBERNETES_SERVICE_HOST"))
    asked = kubeconfig is not None or context is not None
    alone = token_file is not None or bool(issuer)
    if not asked and not alone and not in_pod:
        raise click.UsageError("nothing to look at: give --kubeconfig, --context, --token or --issuer")
    if audience and len(clouds) > 1:
        raise click.BadParameter(
            f"{audience!r} cannot be that of {len(clouds)} clouds, want one --cloud", param_hint="--audience"
        )
    over = options.overrides(mode, cwii)
    logging.getLogger("vestibule").addHandler(logging.NullHandler())  # what is odd is a check, not a log line
    try:
        from vestibule.apps.doctor import run
        from vestibule.apps.doctor.question import Question
    except ModuleNotFoundError as error:
        raise errors.MissingExtra("doctor", "cluster,pki") from error
    from vestibule.adapters import settingsfile

    question = Question(
        live.access(kubeconfig, context) if asked or (in_pod and not alone) else None,
        _token(token_file),
        issuer,
        inputs.trusting(ca_bundle),
        _account(service_account),
        tuple(clouds),
        audience,
        subject,
        namespace,
        configuration,
        pods,
        settingsfile.load(settings_file, over) if settings_file is not None else None,
    )
    if question.account is not None and question.access is None and question.token is None:
        raise click.UsageError("--service-account needs a cluster: give --kubeconfig or --context")
    checks = run.run(question, over, printer.progress())
    shown.show(checks, output)
    if any(check.status == "fail" for check in checks):
        sys.exit(main.EXIT_REFUSED)


def _token(name: str | None) -> Given | None:
    from vestibule.apps.doctor.question import Given as Made

    return None if name is None else Made(*inputs.token(name))


def _account(text: str | None) -> Account | None:
    from vestibule.apps.doctor.question import Account as Made

    return None if text is None else Made(*inputs.account(text))
