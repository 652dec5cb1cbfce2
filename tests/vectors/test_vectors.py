"""Every conformance case, one test each, through the handler and the offline path, each twice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vectors import run

CASES = [
    pytest.param(family, vector, id=f"{family}-{vector['name']}")
    for family in run.FAMILIES
    for file in sorted(run.HERE.glob(f"{family}*.json"))
    for vector in run.load(file)
]


@pytest.mark.parametrize(("family", "vector"), CASES)
def test_vector(family: str, vector: dict[str, Any]) -> None:
    assert run.unknown_keys(family, vector) == []

    found = run.problems(family, vector)

    assert bool(found) == (vector["name"] in run.departures(family)), "\n".join(found)


@pytest.mark.parametrize("family", run.FAMILIES)
def test_every_listed_departure_names_a_vector(family: str) -> None:
    names = {vector["name"] for file in run.HERE.glob(f"{family}*.json") for vector in run.load(file)}

    assert set(run.departures(family)) <= names
