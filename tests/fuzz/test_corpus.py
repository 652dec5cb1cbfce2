"""Every committed input holds, those that once were faults among them."""

from __future__ import annotations

import importlib

import pytest

from tests.fuzz.one import CORPUS
from tests.fuzz.targets import NAMES

INPUTS = [path for name in NAMES for path in sorted((CORPUS / name).iterdir())]
LARGEST = 512 * 1024


@pytest.mark.parametrize("name", NAMES)
def test_committed_inputs_hold(name: str) -> None:
    target = importlib.import_module(f"tests.fuzz.targets.{name}")
    inputs = [path for path in INPUTS if path.parent.name == name]

    assert len(inputs) >= 3
    for path in inputs:
        target.check(path.read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_makes_the_same_change(name: str) -> None:
    target = importlib.import_module(f"tests.fuzz.targets.{name}")
    data = INPUTS[[path.parent.name for path in INPUTS].index(name)].read_bytes()
    changed = {target.mutate(data, target.LONGEST, 7) for _ in range(3)}

    assert len(changed) == 1
    assert all(len(one) <= target.LONGEST for one in changed)


def test_the_corpus_stays_small() -> None:
    assert sum(path.stat().st_size for path in INPUTS) < LARGEST
