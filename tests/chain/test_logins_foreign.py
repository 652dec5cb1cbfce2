"""Rows of the table: the vocabularies that we replace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chain import row_run
from tests.chain.case import Case, grouped
from tests.chain.logins import Clouds
from tests.chain.rows import azwi, eks, wif
from tests.chain.stage import Stages

pytestmark = pytest.mark.slow

CASES = grouped([*azwi.ROWS, *eks.ROWS, *wif.ROWS])


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_the_pod_logs_in(stages: Stages, clouds: Clouds, tools: Path, case: Case) -> None:
    row_run.play(stages, clouds, tools, case)
