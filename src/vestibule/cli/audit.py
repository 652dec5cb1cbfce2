"""``vestibule audit``."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vestibule import errors
from vestibule.cli import live, main, options, printer

if TYPE_CHECKING:
    from vestibule.adapters.cluster.evictions import Outcome
    from vestibule.apps.doctor.audit import Report
    from vestibule.core.doctor.census import Entry

_EPILOG = """\b
Every pod of a cluster, or of one namespace:
  vestibule audit --kubeconfig
  vestibule audit --context staging -n team-a -o json

\b
Let controllers make them anew; disruption budgets count, one pod of a workload goes at a time:
  vestibule audit --kubeconfig -n team-a --fix --dry-run
  vestibule audit --kubeconfig -n team-a --fix --yes

\b
Only pods that lack what they ask for are evicted: not stale ones, none that nothing makes anew, and those of
Jobs only with --jobs. It ends at once when a replacement lacks the same again.
Exit codes: 0 no pod lacks anything, 1 something failed, 2 the input is wrong, 3 pods lack what they ask for.
"""
_SHOWN = 50
"""Pods that people see; machines see all."""
_WORDS = {
    "evicted": "evicted",
    "would-evict": "would be evicted",
    "blocked": "not evicted",
    "gone": "is gone already",
    "replaced": "is replaced, and the new one has what it asks for",
    "missed": "evicted in vain",
    "failed": "not evicted",
}


@click.command(epilog=_EPILOG)
@options.kubeconfig
@options.pods
@click.option("--all", "everything", is_flag=True, help="List stale pods and those left out on purpose, too.")
@click.option("--fix", "mend", is_flag=True, help="Evict those that a controller makes anew.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask.")
@click.option("--dry-run", is_flag=True, help="With --fix: ask the API server whether they could go.")
@click.option("--jobs", is_flag=True, help="With --fix: evict pods of Jobs, too.")
@click.option(
    "--per-minute",
    type=click.IntRange(1, 600),
    default=30,
    show_default=True,
    help="With --fix: evictions in a minute, at most.",
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
    mend: bool,
    yes: bool,
    dry_run: bool,
    jobs: bool,
    per_minute: int,
    output: str,
    settings_file: Path | None,
    mode: str | None,
    **cwii: Any,
) -> None:
    """List pods that should have got an identity or a sandbox and did not, why, and what to do."""
    if kubeconfig is None and context is None and not os.environ.get("KUBERNETES_SERVICE_HOST"):
        raise click.UsageError("nothing to look at: give --kubeconfig or --context")
    if not mend and (yes or dry_run or jobs):
        raise click.UsageError("--yes, --dry-run and --jobs go with --fix")
    if mend and output == "json" and not (yes or dry_run):
        raise click.UsageError("with -o json nobody can be asked: give --yes or --dry-run with --fix")
    over = options.overrides(mode, cwii)
    logging.getLogger("vestibule").addHandler(logging.NullHandler())
    try:
        from vestibule.apps.doctor import audit
    except ModuleNotFoundError as error:
        raise errors.MissingExtra("audit", "cluster,pki") from error
    from vestibule.adapters import settingsfile

    settings = settingsfile.load(settings_file, over) if settings_file is not None else None
    question = audit.Question(live.access(kubeconfig, context), namespace, configuration, settings)
    report = audit.look(question, over, printer.progress())
    if output == "table":
        _show(report, everything=everything)
    outcomes: list[Outcome] = []
    ended = ""
    if mend and _agreed(report, jobs=jobs, ask=not (yes or dry_run)):

        def tell(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if output == "table":
                _tell(outcome)

        ended = audit.fix(question, report, audit.Wish(per_minute, jobs, dry_run), tell)
        if ended:
            click.secho(f"ended: {ended}", fg="red", err=True)
    if output == "json":
        _print(report, outcomes, ended, everything=everything)
    mended = {one.entry.uid for one in outcomes if one.result in ("replaced", "gone")}
    if any(one.missed and one.uid not in mended for one in report.entries):
        sys.exit(main.EXIT_REFUSED)


def _agreed(report: Report, *, jobs: bool, ask: bool) -> bool:
    from vestibule.core.audit import repair

    pods = [one for one in report.entries if not repair.eligible(one, jobs=jobs)]
    if not pods:
        click.echo("nothing can be mended by eviction", err=True)
        return False
    if not ask:
        return True
    return click.confirm(f"evict {len(pods)} pods, one of a workload at a time?", err=True)


def _listed(report: Report, *, everything: bool) -> list[Entry]:
    return [one for one in report.entries if everything or one.missed]


def _show(report: Report, *, everything: bool) -> None:
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
                one.difference.state,
                one.difference.text,
                one.reason,
                one.advice,
            )
            for one in listed[:_SHOWN]
        ]
        printer.table(printer.console(), headings, rows)
    if len(listed) > _SHOWN:
        click.echo(f"and {len(listed) - _SHOWN} more; -o json lists them all")
    missed = len({one.uid for one in report.entries if one.missed})
    stale = len({one.uid for one in report.entries if one.difference.state == "stale"})
    more = f", {stale} are stale (--all lists them)" if stale and not everything else ""
    click.echo(f"{report.tally.seen} pods looked at, {missed} lack what they ask for{more}")


def _tell(outcome: Outcome) -> None:
    one = outcome.entry
    text = f": {outcome.text}" if outcome.text else ""
    click.echo(f"Pod {one.namespace}/{one.name} {_WORDS[outcome.result]}{text}")


def _print(report: Report, outcomes: list[Outcome], ended: str, *, everything: bool) -> None:
    told = {
        "registration": report.about,
        "seen": report.tally.seen,
        "asking": report.tally.served,
        "missed": len({one.uid for one in report.entries if one.missed}),
        "pods": [
            {**one.item(), "state": one.difference.state} for one in _listed(report, everything=everything)
        ],
        "notes": report.notes,
        "evictions": [
            {"namespace": one.entry.namespace, "name": one.entry.name, "result": one.result, "text": one.text}
            for one in outcomes
        ],
        "ended": ended,
    }
    click.echo(printer.json_text(told), nl=False)
