"""Helm with a home of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chart.release import Helm


@pytest.fixture
def program(helm: Path, tmp_path: Path) -> Helm:
    return Helm(helm, tmp_path)
