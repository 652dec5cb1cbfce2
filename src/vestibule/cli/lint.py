"""``vestibule lint``."""

from __future__ import annotations

import sys
from typing import Any

import click

from vestibule.cli import main, offline, options, printer

_EPILOG = """\b
  vestibule lint -f deploy/ --cluster ./manifests
  vestibule lint -f deploy/ -o sarif > vestibule.sarif

\b
Without --settings every dialect is checked: cwii.dev, azure.workload.identity, eks.amazonaws.com,
cloud.google.com and iam.gke.io.
Exit code 3: at least one error; with --strict-warnings also for a warning.
"""


@click.command(epilog=_EPILOG)
@options.manifests
@options.output("text", "json", "sarif")
@click.option("--strict-warnings", is_flag=True, help="Exit with code 3 for warnings, too.")
@options.settings
@options.cwii
def command(output: str, strict_warnings: bool, **given: Any) -> None:
    """Check manifests for mistakes: file, line, and what to do."""
    from vestibule.diagnose.lint import run, sarif

    inputs = offline.request(**given)
    if inputs.settings_file is None:
        inputs.over.setdefault("vocabularies", ("cwii", "azwi", "eks", "wif", "gke"))
    read = offline.read(inputs)
    findings = run.run(read.files, read.cluster, read.policy, inputs.namespace)
    if output == "sarif":
        click.echo(printer.json_text(sarif.report(findings)), nl=False)
    elif output == "json":
        click.echo(printer.json_text([{**one._asdict(), "rule": one.rule.id} for one in findings]), nl=False)
    else:
        _show(findings)
    worst = {one.severity for one in findings}
    if "error" in worst or (strict_warnings and "warning" in worst):
        sys.exit(main.EXIT_REFUSED)


def _show(findings: list[Any]) -> None:
    colours = {"error": "red", "warning": "yellow", "note": "cyan"}
    for one in findings:
        click.secho(str(one), fg=colours[one.severity])
    counts = {name: sum(one.severity == name for one in findings) for name in colours}
    summary = ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items() if count)
    click.echo(summary or "no problems found", err=True)
