"""Whether a work tree is slower than its base commit: the judgement over interleaved rounds, without I/O.

A round measures both sides one after the other, so that a slow moment of the machine hits both. The change is
the median over the rounds of work tree ÷ base; the spread is the interquartile range of these ratios. A loss
counts only if it exceeds both LIMIT and the spread: the machine cannot distinguish less from noise.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

LIMIT = 0.05
"""Share of the base's cost that a change may add."""
FEWEST = 3
"""Rounds below which there is no spread to speak of, and so no judgement."""

Round = tuple[float, float]
"""Cost of the base and cost of the work tree; less is better."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of both sides."""

    name: str
    unit: str
    base: float
    """Median over the rounds."""
    tree: float
    change: float
    """Share by which the work tree costs more; negative is a gain."""
    spread: float

    @property
    def lost(self) -> bool:
        return self.change > LIMIT and self.change > self.spread


def compare(name: str, unit: str, rounds: Sequence[Round]) -> Comparison:
    """Judges the rounds of one figure. Raises ValueError for fewer than FEWEST and for costs of 0 or less."""
    if len(rounds) < FEWEST:
        raise ValueError(f"{name}: {len(rounds)} rounds, want at least {FEWEST}")
    if any(cost <= 0 for pair in rounds for cost in pair):
        raise ValueError(f"{name}: costs are {rounds}, want positive ones")
    ratios = [tree / base for base, tree in rounds]
    lower, middle, upper = statistics.quantiles(ratios, n=4, method="inclusive")
    return Comparison(
        name=name,
        unit=unit,
        base=statistics.median(base for base, _ in rounds),
        tree=statistics.median(tree for _, tree in rounds),
        change=middle - 1,
        spread=upper - lower,
    )


def table(found: Sequence[Comparison]) -> str:
    """The comparisons as lines of equal columns."""
    rows = [("figure", "base", "work tree", "change", "spread", "")]
    rows += [
        (
            f"{one.name}, {one.unit}",
            f"{one.base:.1f}",
            f"{one.tree:.1f}",
            f"{one.change:+.1%}",
            f"{one.spread:.1%}",
            "LOSS" if one.lost else "",
        )
        for one in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:5], widths[1:], strict=True)),
            ]
        )
        + (f"  {row[5]}" if row[5] else "")
        for row in rows
    ]
    return "\n".join(lines)
