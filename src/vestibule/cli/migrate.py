"""``vestibule migrate``."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule.cli import kubeclient, main, options, printer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vestibule.diagnose.migrate.pod_diff import ChangeGroup
    from vestibule.diagnose.migrate.run import FoundInstallation, MigrationReport

_EPILOG = """\b
A cluster that runs another identity webhook: what is installed, what it means here, what would change:
  vestibule migrate --kubeconfig
  vestibule migrate --context staging --namespace team-a -o json
  vestibule migrate --kubeconfig -o settings > settings.yaml

\b
Manifests, with the other webhook's own among them or without:
  vestibule migrate -f charts-rendered/ -f deploy/

\b
Known: Azure Workload Identity, the EKS pod identity webhook, the GCP workload identity federation webhook,
cwii, and GKE's key on ServiceAccounts. Nothing is written, neither to a cluster nor to a file.
Exit code 3: in better mode a pod would be refused that is admitted today.
"""


@click.command(epilog=_EPILOG)
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    help="Manifest file, directory, or - for standard input; may be repeated.",
)
@options.kubeconfig
@click.option(
    "-n",
    "--namespace",
    default="",
    help="Workloads of this namespace only; with -f: of objects that name none.",
)
@click.option(
    "--gcp-provider",
    "provider",
    default="",
    metavar="NAME",
    help="GKE's key: projects/<number>/locations/global/workloadIdentityPools/<pool>/providers/<provider>.",
)
@click.option(
    "--examples",
    default=3,
    show_default=True,
    type=click.IntRange(0),
    help="Number of workloads to name for each difference.",
)
@options.output("text", "json", "settings")
def command(
    files: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
    namespace: str,
    provider: str,
    examples: int,
    output: str,
) -> None:
    """Report what changes, and what stays, when a cluster moves from another identity webhook."""
    live = kubeconfig is not None or context is not None
    in_pod = bool(os.environ.get("KUBERNETES_SERVICE_HOST"))
    if files and live:
        raise click.UsageError("-f and a cluster exclude each other: give one of them")
    if not files and not live and not in_pod:
        raise click.UsageError("nothing to compare: give -f, --kubeconfig or --context")
    logging.getLogger("vestibule").addHandler(logging.NullHandler())  # problems are in the report
    from vestibule.diagnose.migrate import run

    question = run.MigrationOptions(provider, examples)
    if files:
        from vestibule.diagnose.offline import manifest_files
        from vestibule.kube import manifest_object

        read = manifest_files.read(files, sys.stdin.buffer)
        report = run.manifests(
            read, namespace or manifest_object.DEFAULT_NAMESPACE, question, printer.progress()
        )
    else:
        report = run.live(kubeclient.client(kubeconfig, context), namespace, question, printer.progress())
    if output == "json":
        click.echo(printer.json_text(_data(report)), nl=False)
    elif output == "settings":
        _settings(report)
    else:
        _show(report)
    if report.refused:
        sys.exit(main.EXIT_REFUSED)


def _settings(report: MigrationReport) -> None:
    for text in (*report.notes, *(note for one in report.found for note in one.meaning.notes)):
        click.secho(f"warning: {text}", fg="yellow", err=True)
    if report.settings:
        click.echo(printer.yaml_text([report.settings]), nl=False)


def _data(report: MigrationReport) -> dict[str, Any]:
    return {
        "installations": [_installation(one) for one in report.found],
        "settings": report.settings,
        "notes": report.notes,
        "steps": report.steps,
        "serviceAccounts": report.accounts,
        "workloads": {
            "seen": report.seen,
            "served": sum(one.served for one in report.compared),
            "sameInStrict": sum(one.served and not one.strict for one in report.compared),
            "sameInBetter": sum(one.served and not one.better for one in report.compared),
        },
        "strict": [one._asdict() for one in report.strict],
        "better": [one._asdict() for one in report.better],
        "refused": [{"workload": one.name, "message": one.refused} for one in report.refused],
        "notLookedAt": report.unread,
    }


def _installation(one: FoundInstallation) -> dict[str, Any]:
    installed = one.installation
    started = installed.started
    return {
        "program": installed.program,
        "product": installed.product,
        "configuration": installed.configuration,
        "webhook": installed.hook.get("name"),
        "service": installed.service,
        "deployment": f"{installed.namespace}/{installed.deployment['metadata']['name']}"
        if installed.deployment
        else "",
        "image": installed.image,
        "arguments": list(started.arguments) if started else [],
        "managed": installed.managed,
        "settings": one.meaning.data,
        "command": list(one.meaning.command),
        "notes": list(one.meaning.notes),
        "dropIn": one.drop_in,
        "remove": one.left,
    }


def _show(report: MigrationReport) -> None:
    if not report.found:
        click.echo("no other identity webhook is installed here")
    for one in report.found:
        _head("installed", one.installation.product)
        _lines(_facts(one))
        _notes(one.meaning.notes)
        if one.drop_in:
            _head("in its place", "image and command change, nothing else does")
            click.echo(f"  {shlex.join(one.meaning.command)}")
            _lines(one.drop_in, "- ")
    if report.accounts:
        _head(
            "ServiceAccounts",
            ", ".join(f"{number} with {name} keys" for name, number in report.accounts.items()),
        )
    if report.settings:
        _head("settings", "for a separate installation: settings.yaml")
        _lines(printer.yaml_text([report.settings]).splitlines())
    _notes(report.notes)
    if report.found:
        _head("side by side", "a separate installation, then remove the other")
        _lines([f"{number}. {text}" for number, text in enumerate(report.steps, 1)])
        _head("left to remove", "")
        _lines([text for one in report.found for text in one.left] or ["nothing that is yours to remove"])
    _pods(report)


def _facts(one: FoundInstallation) -> list[str]:
    installed = one.installation
    shown = [f"MutatingWebhookConfiguration {installed.configuration}, webhook {installed.hook.get('name')}"]
    if installed.deployment is not None:
        shown.append(
            f"Deployment {installed.namespace}/{installed.deployment['metadata']['name']}, image "
            f"{installed.image}"
        )
    if installed.started is not None and installed.started.arguments:
        shown.append(f"flags {shlex.join(installed.started.arguments)}")
    if installed.managed:
        shown.append("managed by the cluster's vendor")
    return shown


def _pods(report: MigrationReport) -> None:
    if not report.settings:
        click.echo("no workload requests a cloud identity in a known dialect")
        return
    data = _data(report)["workloads"]
    _head("workloads", f"{data['seen']} compared, {data['served']} served today")
    if not report.compared:
        return
    _head("in strict", f"the same for {data['sameInStrict']} of {data['served']}")
    _groups(report.strict)
    _head("in better", f"the same for {data['sameInBetter']} of {data['served']}; what changes:")
    _groups(report.better)
    for one in report.refused:
        click.secho(f"  refused in better: {one.name}: {one.refused}", fg="red")
    for text in report.unread:
        click.secho(f"  not checked: {text}", fg="yellow")


def _groups(groups: Sequence[ChangeGroup]) -> None:
    for one in groups:
        colour = "red" if one.kind == "refused" else None
        named = f"  e.g. {', '.join(one.examples)}" if one.examples else ""
        click.secho(f"  {one.number:5}  {one.kind:9} {one.text}{named}", fg=colour)


def _head(title: str, text: str) -> None:
    click.echo()
    click.echo(click.style(title, bold=True) + (f"  {text}" if text else ""))


def _lines(texts: Sequence[str], mark: str = "") -> None:
    for text in texts:
        click.echo(f"  {mark}{text}")


def _notes(texts: Sequence[str]) -> None:
    for text in texts:
        click.secho(f"  note: {text}", fg="yellow")
