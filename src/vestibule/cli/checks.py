"""Checks, for people and for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vestibule.cli import printer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vestibule.checks.check import Check

_SHOWN = 20
"""Pods of one check that people see; machines see all."""
_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "skipped": "cyan"}


def show(checks: Sequence[Check], output: str) -> None:
    """Every check with what was found, what is wanted and what to do."""
    from vestibule.checks import check

    if output == "json":
        report = {
            "status": check.worst(checks),
            "counts": check.counts(checks),
            "checks": [one._asdict() for one in checks],
        }
        click.echo(printer.json_text(report), nl=False)
        return
    for one in checks:
        click.echo(
            f"{click.style(f'{one.status:7}', fg=_COLOURS[one.status])} {one.id:22} {one.about}: {one.found}"
        )
        if one.status in ("warn", "fail") and one.want and one.want != "none":
            click.echo(f"{'':31}want: {one.want}")
        if one.status != "ok" and one.advice:
            click.echo(f"{'':31}do:   {one.advice}")
        if one.status != "ok" and one.id.startswith("pods."):
            _pods(one)
    counts = check.counts(checks)
    click.echo(", ".join(f"{count} {status}" for status, count in counts.items() if count))


def _pods(one: Check) -> None:
    for item in one.items[:_SHOWN]:
        age = _age(item["ageSeconds"])
        owner = f", of {item['owner']}" if item["owner"] else ""
        click.echo(f"{'':8}Pod {item['namespace']}/{item['name']}{owner}, {age} old: {item['found']}")
        click.echo(f"{'':10}{item['reason']}; {item['advice']}")
    if len(one.items) > _SHOWN:
        click.echo(f"{'':8}and {len(one.items) - _SHOWN} more; -o json lists them all")


def _age(seconds: int) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
