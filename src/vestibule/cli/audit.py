"""``vestibule audit``."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule.cli import kubeclient, main, options, printer

if TYPE_CHECKING:
    from vestibule.checks.pod_report import PodEntry
    from vestibule.diagnose.audit.evictions import EvictionOutcome
    from vestibule.diagnose.audit.run import AuditReport

_EPILOG = """\b
Every pod of a cluster, or of one namespace:
  vestibule audit --kubeconfig
  vestibule audit --context staging -n team-a -o json

\b
Let controllers recreate them; disruption budgets are respected, one pod of a workload at a time:
  vestibule audit --kubeconfig -n team-a --fix --dry-run
  vestibule audit --kubeconfig -n team-a --fix --yes

\b
Only pods that lack the requested identity are evicted: no stale pods, no pods without a controller, and pods
of
Jobs only with --jobs. The run stops when a replacement lacks its identity again.
Exit codes: 0 no pod lacks anything, 1 something failed, 2 the input is wrong, 3 pods lack the requested
identity.
"""
_SHOWN = 50
"""Pods that people see; machines see all."""
_WORDS = {
    "evicted": "evicted",
    "would-evict": "would be evicted",
    "blocked": "not evicted",
    "gone": "is gone already",
    "replaced": "is replaced, and the new one has the requested identity",
    "missed": "evicted in vain",
    "failed": "not evicted",
}


@click.command(epilog=_EPILOG)
@options.kubeconfig
@options.pods
@click.option(
    "--all", "everything", is_flag=True, help="Also list stale pods and pods that are excluded on purpose."
)
@click.option("--fix", "fix", is_flag=True, help="Evict pods that a controller will recreate.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask for confirmation.")
@click.option(
    "--dry-run", is_flag=True, help="With --fix: only ask the API server whether evictions are allowed."
)
@click.option("--jobs", is_flag=True, help="With --fix: also evict pods of Jobs.")
@click.option(
    "--per-minute",
    type=click.IntRange(1, 600),
    default=30,
    show_default=True,
    help="With --fix: maximum number of evictions per minute.",
)
@options.output("table", "json")
@options.settings
@options.cwii
def command(
    kubeconfig: Path | None,
    context: str | None,
    namespace: str,
    configuration: str,
    everything: bool,
    fix: bool,
    yes: bool,
    dry_run: bool,
    jobs: bool,
    per_minute: int,
    output: str,
    settings_file: Path | None,
    mode: str | None,
    **cwii: Any,
) -> None:
    """List pods that lack an identity or a sandbox that they ask for, with cause and advice."""
    if kubeconfig is None and context is None and not os.environ.get("KUBERNETES_SERVICE_HOST"):
        raise click.UsageError("no cluster given: give --kubeconfig or --context")
    if not fix and (yes or dry_run or jobs):
        raise click.UsageError("--yes, --dry-run and --jobs go with --fix")
    if fix and output == "json" and not (yes or dry_run):
        raise click.UsageError("with -o json there is no prompt: give --yes or --dry-run with --fix")
    over = options.overrides(mode, cwii)
    logging.getLogger("vestibule").addHandler(logging.NullHandler())
    from vestibule import settingsfile
    from vestibule.diagnose.audit import run

    settings = settingsfile.load(settings_file, over) if settings_file is not None else None
    question = run.AuditOptions(kubeclient.access(kubeconfig, context), namespace, configuration, settings)
    report = run.audit(question, over, printer.progress())
    if output == "table":
        _show(report, everything=everything)
    outcomes: list[EvictionOutcome] = []
    ended = ""
    if fix and _agreed(report, jobs=jobs, ask=not (yes or dry_run)):

        def show_outcome(outcome: EvictionOutcome) -> None:
            outcomes.append(outcome)
            if output == "table":
                _print_outcome(outcome)

        ended = run.fix(question, report, run.EvictionOptions(per_minute, jobs, dry_run), show_outcome)
        if ended:
            click.secho(f"ended: {ended}", fg="red", err=True)
    if output == "json":
        _print(report, outcomes, ended, everything=everything)
    repaired = {one.entry.uid for one in outcomes if one.result in ("replaced", "gone")}
    if any(one.missed and one.uid not in repaired for one in report.entries):
        sys.exit(main.EXIT_REFUSED)


def _agreed(report: AuditReport, *, jobs: bool, ask: bool) -> bool:
    from vestibule.diagnose.audit import eviction_rules

    pods = [one for one in report.entries if not eviction_rules.eligible(one, jobs=jobs)]
    if not pods:
        click.echo("no pod can be fixed by eviction", err=True)
        return False
    if not ask:
        return True
    return click.confirm(f"evict {len(pods)} pods, one of a workload at a time?", err=True)


def _listed(report: AuditReport, *, everything: bool) -> list[PodEntry]:
    return [one for one in report.entries if everything or one.missed]


def _show(report: AuditReport, *, everything: bool) -> None:
    for note in report.notes[:_SHOWN]:
        click.secho(f"warning: {note}", fg="yellow", err=True)
    listed = _listed(report, everything=everything)
    if listed:
        headings = ("NAMESPACE", "POD", "OWNER", "STATE", "WHAT", "WHY", "DO")
        rows = [
            (
                one.namespace,
                one.name,
                one.owner or "-",
                one.drift.state,
                one.drift.text,
                one.reason,
                one.advice,
            )
            for one in listed[:_SHOWN]
        ]
        printer.table(printer.console(), headings, rows)
    if len(listed) > _SHOWN:
        click.echo(f"and {len(listed) - _SHOWN} more; -o json lists them all")
    missed = len({one.uid for one in report.entries if one.missed})
    stale = len({one.uid for one in report.entries if one.drift.state == "stale"})
    more = f", {stale} are stale (--all lists them)" if stale and not everything else ""
    click.echo(f"{report.tally.seen} pods checked, {missed} lack the requested identity{more}")


def _print_outcome(outcome: EvictionOutcome) -> None:
    one = outcome.entry
    text = f": {outcome.text}" if outcome.text else ""
    click.echo(f"Pod {one.namespace}/{one.name} {_WORDS[outcome.result]}{text}")


def _print(report: AuditReport, outcomes: list[EvictionOutcome], ended: str, *, everything: bool) -> None:
    report_data = {
        "registration": report.about,
        "seen": report.tally.seen,
        "asking": report.tally.served,
        "missed": len({one.uid for one in report.entries if one.missed}),
        "pods": [{**one.item(), "state": one.drift.state} for one in _listed(report, everything=everything)],
        "notes": report.notes,
        "evictions": [
            {"namespace": one.entry.namespace, "name": one.entry.name, "result": one.result, "text": one.text}
            for one in outcomes
        ],
        "ended": ended,
    }
    click.echo(printer.json_text(report_data), nl=False)
