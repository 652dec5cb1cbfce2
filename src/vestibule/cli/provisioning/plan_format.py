"""How plans and progress of a provisioning run look: a table for people, JSON for machines."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from vestibule.cli import printer

if TYPE_CHECKING:
    from vestibule.api.credentialsrequest import SkippedDocument
    from vestibule.provision.steps import PlannedStep

_SIGNS = {"create": "+", "update": "~", "delete": "-", "publish": ">", "write": ">"}
_COLOURS = {"create": "green", "update": "yellow", "delete": "red", "publish": "cyan", "write": "cyan"}


class ProgressLines:
    """Progress on standard error, a line for each step that is done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def begun(self, step: PlannedStep) -> None:
        """Nothing: what matters is what is done."""

    def done(self, step: PlannedStep, number: int, total: int) -> None:
        """One line."""
        with self._lock:
            width = len(str(total))
            click.echo(f"[{number:>{width}}/{total}] {_line(step)}", err=True)

    def failed(self, step: PlannedStep, error: Exception) -> None:
        """One line; the error itself ends the command."""
        with self._lock:
            click.secho(f"failed: {step}", fg="red", err=True)


def skipped(found: Sequence[SkippedDocument]) -> None:
    """Requests that do not count, on standard error."""
    for one in found:
        click.echo(f"skipped: {one.place}: {one.name} {one.why}", err=True)


def result(
    output: str,
    *,
    steps: Sequence[PlannedStep] = (),
    remarks: Sequence[str] = (),
    issuer: str = "",
    files: Sequence[str] = (),
    planned: bool = False,
    skipped: Sequence[SkippedDocument] = (),
) -> None:
    """What was done, or with ``planned`` would be."""
    if output == "json":
        from vestibule.provision.steps import machine

        sys.stdout.write(
            printer.json_text(
                {
                    "planned": planned,
                    "issuer": issuer,
                    "steps": machine(steps),
                    "remarks": list(remarks),
                    "files": list(files),
                    "skipped": [one._asdict() for one in skipped],
                }
            )
        )
        return
    if planned:
        for step in steps:
            click.echo(_line(step))
        if not steps:
            click.echo("nothing to do")
    for remark in remarks:
        click.secho(f"note: {remark}", fg="yellow", err=True)
    if issuer:
        click.echo(f"issuer: {issuer}")
    for name in files:
        click.echo(f"wrote {name}")
    if not (planned or steps or files):
        click.echo("nothing to do: everything is as it should be")


def _line(step: PlannedStep) -> str:
    sign = click.style(_SIGNS[step.verb], fg=_COLOURS[step.verb])
    return f"{sign} {step}"
