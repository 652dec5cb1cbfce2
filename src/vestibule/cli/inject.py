"""``vestibule inject``."""

from __future__ import annotations

import sys
from typing import Any

import click

from vestibule.cli import main, offline, options, printer

_EPILOG = """\b
Pods are found in Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob and List objects.
Namespaces and ServiceAccounts may be in the same files, or in the --cluster directory.

\b
Show the change:                vestibule inject -f deploy.yaml --cluster ./manifests -o diff
Write the result:               vestibule inject -f deploy.yaml --cluster ./manifests > injected.yaml
In a pipe:                      helm template . | vestibule inject -f - | kubectl apply -f -
For a machine:                  vestibule inject -f deploy.yaml -o patch

\b
Warnings go to standard error. Exit code 3: at least one pod would be refused.
"""


@click.command(epilog=_EPILOG)
@options.manifests
@options.output("yaml", "json", "patch", "diff")
@options.settings
@options.cwii
def command(output: str, **given: Any) -> None:
    """Inject identities into the pods of manifests, as the webhook would; comments and key order stay."""
    from vestibule.diagnose.offline import outputs

    injected = offline.decided(offline.request(**given))
    for result in injected.results:
        for finding in result.verdict.findings:
            if finding.severity == "warn":
                click.secho(f"warning: {result.template.place}: {finding.text}", fg="yellow", err=True)
        if not result.verdict.allowed:
            text = f"refused: {result.template.place}: {result.template}: {result.verdict.message}"
            click.secho(text, fg="red", err=True)
    text = outputs.FORMATS[output](injected)
    if output == "diff":
        printer.diff(text)
    else:
        click.echo(text, nl=False)
    if injected.refused:
        sys.exit(main.EXIT_REFUSED)
