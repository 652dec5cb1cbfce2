"""Golden pairs: ``golden/x.yaml`` is what a user has, ``golden/x.yaml.injected`` is what comes out.

Pairs are found by themselves; ``VESTIBULE_REFRESH=1`` writes the second halves anew.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

import pytest
from tests.offline.scene import injected_text

from vestibule.yamledit import yaml_documents

GOLDEN = Path(__file__).parent / "golden"
INPUTS = sorted(path for path in GOLDEN.iterdir() if path.suffix in yaml_documents.SUFFIXES)


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name)
def test_output_is_as_agreed_and_a_second_pass_changes_nothing(path: Path) -> None:
    golden = path.with_name(f"{path.name}.injected")
    text = injected_text(path.read_text())
    if os.environ.get("VESTIBULE_REFRESH"):
        golden.write_text(text)

    assert golden.read_text() == text
    assert injected_text(text) == text


GROW = ("[]", "*env", "*aws", "}", "volumeMounts:")
"""Ends of lines that change: an empty value, an alias or a flow collection that gets something put in."""


@pytest.mark.parametrize("path", [p for p in INPUTS if p.suffix != ".json"], ids=lambda path: path.name)
def test_lines_of_the_user_are_only_added_to(path: Path) -> None:
    before = path.read_text().splitlines()
    after = path.with_name(f"{path.name}.injected").read_text().splitlines()
    opcodes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()

    gone = [line for tag, a, b, _, _ in opcodes if tag in ("delete", "replace") for line in before[a:b]]

    assert [line for line in gone if not line.strip().endswith(GROW)] == []


def test_no_golden_file_is_stale() -> None:
    outputs = {path.name.removesuffix(".injected") for path in GOLDEN.glob("*.injected")}

    assert {path.name for path in INPUTS} == outputs
