"""Calls that were done although nobody heard of it: a line cut, or a 503, at every call of ``create-all``."""

from __future__ import annotations

import pytest

from tests.azure import scenario
from tests.azure.scenario import Fresh


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "step"), [("done, and the line cut", 1), ("done, and answered 503", 4)], ids=["cut", "503"]
)
def test_an_answer_lost_at_every_call_then_a_rerun_and_a_delete(kind: str, step: int, fresh: Fresh) -> None:
    scenario.at_every_call(kind, fresh, step)
