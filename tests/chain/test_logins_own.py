"""Rows of the table: our own vocabulary, and several together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chain import row_run
from tests.chain.case import Case, grouped
from tests.chain.logins import Clouds
from tests.chain.rows import cwii, together
from tests.chain.stage import Stages

pytestmark = pytest.mark.slow

CASES = grouped([*cwii.ROWS, *together.ROWS])


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_the_pod_logs_in(stages: Stages, clouds: Clouds, tools: Path, case: Case) -> None:
    row_run.play(stages, clouds, tools, case)
