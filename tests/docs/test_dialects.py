"""The before and after of every dialect page is what the tool does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from vestibule.cli.main import cli

PAGES = sorted((Path(__file__).parents[2] / "docs" / "dialects").glob("*.md"))
BLOCK = re.compile(r'```\w+ title="(\S+)"\n(.*?)```', re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_example_is_true(page: Path, tmp_path: Path) -> None:
    blocks = dict(BLOCK.findall(page.read_text("utf-8")))
    for name in ("settings.toml", "before.yaml"):
        (tmp_path / name).write_text(blocks[name])
    options = ["-f", str(tmp_path / "before.yaml"), "--settings", str(tmp_path / "settings.toml")]

    injected = CliRunner().invoke(cli, ["inject", *options, "-o", "yaml"], catch_exceptions=False)
    linted = CliRunner().invoke(cli, ["lint", *options, "-o", "json"], catch_exceptions=False)

    *_, pod = yaml.safe_load_all(injected.stdout)
    assert pod == yaml.safe_load(blocks["after.yaml"])
    assert json.loads(linted.stdout) == []


def test_there_is_a_page_for_every_program_we_stand_in_for() -> None:
    assert [page.stem for page in PAGES] == ["azwi", "eks", "gcp"]
