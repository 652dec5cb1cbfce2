"""The definitions in ``deploy/crds`` are those that the code makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_definitions_are_fresh() -> None:
    ran = subprocess.run(
        [sys.executable, "scripts/crds.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")
