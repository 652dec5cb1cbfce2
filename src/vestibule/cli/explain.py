"""``vestibule explain``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from vestibule.cli import main, offline, options, printer

if TYPE_CHECKING:
    from rich.console import Console

    from vestibule.diagnose.offline.explain import Explanation

_EPILOG = """\b
  vestibule explain -f deploy.yaml --cluster ./manifests
  vestibule explain -f pod.yaml -o json | jq '.[].missing'

\b
Exit code 3: at least one pod would be refused.
"""


@click.command(epilog=_EPILOG)
@options.manifests
@options.output("table", "json")
@options.settings
@options.cwii
def command(output: str, **given: Any) -> None:
    """Show what each pod gets, from which annotation on which object, what is missing and what to do."""
    from vestibule.diagnose.offline import explain

    injected = offline.decided(offline.request(**given))
    explanations = explain.explain(injected)
    if output == "json":
        click.echo(printer.json_text(explain.as_json(explanations)), nl=False)
    else:
        console = printer.console()
        for number, explanation in enumerate(explanations):
            if number:
                console.print()
            _show(console, explanation)
        if not explanations:
            console.print("no pod in these files")
    if injected.refused:
        sys.exit(main.EXIT_REFUSED)


_COLOURS = {"inject": "green", "skip": "yellow", "deny": "red"}
_WORDS = {"inject": "injected", "skip": "not changed", "deny": "refused"}


_LONGEST = 200
"""Characters of a value in a table; initdata has thousands, and ``-o json`` has all of them."""


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}… ({len(value)} characters)"


def _show(console: Console, one: Explanation) -> None:
    from rich.text import Text

    colour = _COLOURS[one.outcome]
    head = Text.assemble(
        (one.object, "bold"), "  ", (_WORDS[one.outcome], f"bold {colour}"), "  ", (one.place, "dim")
    )
    console.print(head, soft_wrap=True)
    for text in filter(None, (one.message or one.reason,)):
        console.print(Text(f"  {text}", style=colour), soft_wrap=True)
    if one.values:
        shadowed = [
            "; ".join(f"{_short(value)!r} on {where}" for where, value in found.shadowed)
            for found in one.values
        ]
        columns = 4 if any(shadowed) else 3
        rows = [
            (found.key, _short(found.value), found.object, text)[:columns]
            for found, text in zip(one.values, shadowed, strict=True)
        ]
        printer.table(console, ["key", "value", "from", "shadows"][:columns], rows)
    if one.added:
        columns = 4 if any(element.origin for element in one.added) else 3
        headings = ["added", "name", "cloud", "from"][:columns]
        printer.table(console, headings, [tuple(element)[:columns] for element in one.added])
    if one.missing:
        printer.table(
            console,
            ["missing for", "key", "what to do"],
            [(gap.provider, "\n".join(gap.keys), gap.advice) for gap in one.missing],
        )
    if one.findings:
        console.print()
    for finding in one.findings:
        style = "red" if finding.severity == "refuse" else "yellow"
        console.print(Text(f"  {finding.severity}: {finding.text}", style=style), soft_wrap=True)
