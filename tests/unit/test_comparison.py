"""The judgement of `make bench-compare`, with made-up rounds."""

from __future__ import annotations

import pytest
from bench import comparison


def judged(base: list[float], tree: list[float]) -> comparison.Comparison:
    return comparison.compare("decision", "µs", list(zip(base, tree, strict=True)))


def test_a_loss_inside_the_spread_passes() -> None:
    found = judged([100.0, 100.0, 100.0, 100.0, 100.0], [90.0, 95.0, 108.0, 125.0, 130.0])

    assert found.change == pytest.approx(0.08)
    assert found.spread == pytest.approx(0.30)
    assert not found.lost


def test_a_loss_beyond_the_limit_and_the_spread_fails() -> None:
    found = judged([100.0, 101.0, 99.0, 100.0, 100.0], [108.0, 108.0, 108.0, 107.0, 109.0])

    assert found.change == pytest.approx(0.08)
    assert found.spread < 0.03
    assert found.lost


def test_a_loss_beyond_the_spread_but_below_the_limit_passes() -> None:
    found = judged([100.0] * 5, [104.0] * 5)

    assert (found.spread, found.lost) == (0.0, False)


def test_a_gain_passes() -> None:
    found = judged([100.0] * 5, [80.0] * 5)

    assert found.change == pytest.approx(-0.2)
    assert not found.lost


def test_a_slow_moment_that_hits_both_sides_of_a_round_is_no_spread() -> None:
    found = judged([100.0, 300.0, 100.0, 500.0, 100.0], [110.0, 330.0, 110.0, 550.0, 110.0])

    assert found.spread == pytest.approx(0.0)
    assert found.lost


def test_one_disturbed_round_decides_nothing() -> None:
    found = judged([100.0] * 7, [100.0, 100.0, 900.0, 100.0, 100.0, 100.0, 100.0])

    assert (found.change, found.lost) == (0.0, False)


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        ([(1.0, 1.0), (1.0, 1.0)], "decision: 2 rounds, want at least 3"),
        ([(1.0, 1.0), (1.0, 0.0), (1.0, 1.0)], "want positive ones"),
    ],
)
def test_rounds_that_cannot_be_judged_are_an_error(rounds: list[comparison.Round], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        comparison.compare("decision", "µs", rounds)


def test_the_table_marks_only_losses() -> None:
    rows = comparison.table([judged([100.0] * 3, [120.0] * 3), judged([100.0] * 3, [90.0] * 3)]).splitlines()

    assert len({len(row.removesuffix("  LOSS")) for row in rows}) == 1
    assert [row.endswith("LOSS") for row in rows] == [False, True, False]
    assert "+20.0%" in rows[1]
    assert "-10.0%" in rows[2]
