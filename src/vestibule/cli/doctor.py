"""``vestibule doctor``."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule.cli import checks as shown
from vestibule.cli import inputs, kubeclient, main, options, printer

if TYPE_CHECKING:
    from vestibule.diagnose.doctor.options import GivenToken, ServiceAccountName

_EPILOG = """\b
A cluster: its issuer, its webhook, and every pod that runs without the identity it requests:
  vestibule doctor --kubeconfig
  vestibule doctor --context staging --namespace team-a -o json

\b
Whether AWS would accept the tokens of a ServiceAccount (one is requested, checked and discarded):
  vestibule doctor --kubeconfig --service-account team-a/app --cloud aws

\b
A token as a container sees it, and the issuer as the cloud knows it; no cluster is needed:
  vestibule doctor --token /var/run/secrets/cwii.dev/aws/token --issuer https://oidc.example/c1
  kubectl create token app --audience api://AzureADTokenExchange | vestibule doctor --token - --cloud az

\b
In a pod the cluster it runs in is checked. Tokens are never shown, and nothing is written.
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
    "--token", "token_file", metavar="FILE", help="ServiceAccount token to check; - for standard input."
)
@click.option(
    "--issuer", default="", metavar="URL", help="Issuer as configured in the cloud; default: the cluster's."
)
@click.option(
    "--ca-bundle",
    type=click.Path(path_type=Path),
    help="PEM file of CAs to trust for the issuer; default: the system's.",
)
@click.option(
    "--service-account", metavar="NAMESPACE/NAME", help="Request a fresh token of this account and check it."
)
@click.option(
    "--cloud",
    "clouds",
    metavar="[aws|az|gcp]",
    multiple=True,
    callback=lambda _, __, given: _clouds(given),
    help="Cloud that should accept the token; may be repeated. Default: by the token's audience.",
)
@click.option("--audience", default="", help="Audience as configured in the cloud, if it is not the default.")
@click.option("--subject", default="", help="Subject that the cloud trusts; default: the ServiceAccount's.")
@options.pods
@click.option("--pods/--no-pods", default=True, show_default=True, help="Check the pods of the cluster.")
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
    """Diagnose why a pod has no identity: issuer, token, clock, webhook, certificate, and pods that missed
    it."""
    in_pod = bool(os.environ.get("KUBERNETES_SERVICE_HOST"))
    live = kubeconfig is not None or context is not None
    alone = token_file is not None or bool(issuer)
    if not live and not alone and not in_pod:
        raise click.UsageError("nothing to check: give --kubeconfig, --context, --token or --issuer")
    if audience and len(clouds) > 1:
        raise click.BadParameter(
            f"{audience!r} cannot be that of {len(clouds)} clouds, want one --cloud", param_hint="--audience"
        )
    over = options.overrides(mode, cwii)
    logging.getLogger("vestibule").addHandler(logging.NullHandler())  # what is odd is a check, not a log line
    from vestibule import settingsfile
    from vestibule.diagnose.doctor import run
    from vestibule.diagnose.doctor.options import DoctorOptions

    question = DoctorOptions(
        kubeclient.access(kubeconfig, context) if live or (in_pod and not alone) else None,
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


def _token(name: str | None) -> GivenToken | None:
    from vestibule.diagnose.doctor.options import GivenToken

    return None if name is None else GivenToken(*inputs.token(name))


def _account(text: str | None) -> ServiceAccountName | None:
    from vestibule.diagnose.doctor.options import ServiceAccountName

    return None if text is None else ServiceAccountName(*inputs.account(text))
