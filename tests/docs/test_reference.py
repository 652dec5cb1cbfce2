"""The documentation says what the code does: generated pages are fresh, keys, metrics and rules are all
there, links lead somewhere, and commands in code blocks can be typed."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
import yaml

from vestibule import settingsfile
from vestibule.api.settings import schema
from vestibule.cli import main
from vestibule.injection.compat_rules import CompatRules
from vestibule.injection.dialects import cwii_keys
from vestibule.manifests import webhook_configurations

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
PROSE = [*sorted(ROOT.glob("*.md")), *PAGES, *sorted((ROOT / "design").glob("*.md"))]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def text(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


# ── what must be there ─────────────────────────────────────────────────────────────────────────────────────


def test_generated_pages_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/reference.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_every_annotation_key_is_documented() -> None:
    page = text("docs/annotations.md")

    assert sorted(key for key in cwii_keys.KEYS if f"`{key}`" not in page) == []


def test_no_annotation_key_is_invented() -> None:
    reported = {"cwii.dev/az-tokn-expiration"}  # the typing error of the examples
    written = {
        (name(page), key)
        for page in PROSE
        for key in re.findall(r"cwii\.dev/[a-z][a-z-]*[a-z]", page.read_text("utf-8"))
    }
    # paths below the mount root look alike
    paths = {"cwii.dev/gcp", "cwii.dev/aws", "cwii.dev/az", "cwii.dev/gcp-creds"}

    known = cwii_keys.KEYS | cwii_keys.WITH_SUFFIX | reported | paths
    assert sorted((page, key) for page, key in written if key not in known) == []


def _metric_names() -> set[str]:
    """Every string in the source that is a name of a metric of ours."""
    modules = (
        "telemetry/webhook_metrics.py",
        "telemetry/operator_metrics.py",
        "telemetry/audit_metrics.py",
        "webhook/app.py",
    )
    trees = [ast.parse((ROOT / "src" / "vestibule" / module).read_text("utf-8")) for module in modules]
    return {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"vestibule_[a-z_]+", node.value)
    }


def test_every_metric_is_documented() -> None:
    names = _metric_names()
    page = text("docs/reference/metrics.md")

    assert len(names) > 10
    assert (
        sorted(metric for metric in names if f"`{metric}`" not in page and f"`{metric}_total`" not in page)
        == []
    )


def test_every_rule_is_documented() -> None:
    page = text("docs/strict-and-better.md")

    assert [rule for rule in CompatRules.__struct_fields__ if f"| `{rule}` |" not in page] == []


def test_the_guard_is_documented_as_it_is() -> None:
    policy, _ = webhook_configurations.guard(schema.Settings())
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    resources = [resource for rule in rules for resource in rule["resources"]]
    page = text("docs/providers/gcp.md").partition("## The guard")[2].partition("\n## ")[0]

    assert [obj for obj in (policy["metadata"]["name"], *resources) if f"`{obj}`" not in page] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = yaml.safe_load(text("mkdocs.yml"))["nav"]

    assert sorted(_leaves(navigation)) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


def _leaves(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for child in node.values():
            yield from _leaves(child)
    elif isinstance(node, list):
        for child in node:
            yield from _leaves(child)


def test_the_example_settings_are_good() -> None:
    settings = settingsfile.load(ROOT / "examples" / "settings.toml", {})

    assert settings.install.replicas == 3


# ── links ──────────────────────────────────────────────────────────────────────────────────────────────────


def _without_code(source: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^( *)```.*?^\1```", "", source, flags=re.DOTALL | re.MULTILINE))


def _anchors(page: Path) -> set[str]:
    """Anchors of the headings, as the site and GitHub make them."""
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", prose, flags=re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def _broken(page: Path) -> Iterator[str]:
    for link in re.findall(r"\]\(([^)\s]+)\)", _without_code(page.read_text("utf-8"))):
        if re.match(r"https?://", link):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        outside = page.is_relative_to(DOCS) and not file.is_relative_to(DOCS)
        if not file.exists() or outside or (anchor and anchor not in _anchors(file)):
            yield link


@pytest.mark.parametrize("page", PROSE, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    assert list(_broken(page)) == []


# ── commands ───────────────────────────────────────────────────────────────────────────────────────────────


class Line(NamedTuple):
    """A command line in a code block."""

    page: str
    words: tuple[str, ...]


def _lines(page: Path) -> Iterator[Line]:
    """Every ``vestibule …`` in the code blocks of a page, without what follows a pipe."""
    blocks = re.findall(
        r"^ *```(?:console|bash|sh)\n(.*?)^ *```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"\|\||&&|[|;]", line.removeprefix("$ ")):
                words = shlex.split(part, comments=True)
                while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                    words.pop(0)
                if words and words[0].rpartition("/")[2] == "vestibule":
                    ends = [index for index, word in enumerate(words) if word in (">", ">>", "<", "&")]
                    yield Line(name(page), tuple(words[1 : min(ends, default=len(words))]))


COMMANDS = [line for page in PROSE for line in _lines(page)]


def test_the_documentation_shows_commands() -> None:
    assert {line.words[0] for line in COMMANDS if line.words} >= {"webhook", "inject", "explain", "render"}


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: f"{line.page}: {' '.join(line.words)}")
def test_commands_can_be_typed(line: Line) -> None:
    with click.Context(main.cli, info_name="vestibule") as root:
        command = main.cli.get_command(root, line.words[0])

        assert command is not None, f"{line.page}: no command {line.words[0]}"
        words = list(line.words[1:])
        if isinstance(command, click.Group):
            command = command.get_command(root, words.pop(0))
            assert command is not None, f"{line.page}: no command {' '.join(line.words)}"
        if "--as" in line.words:  # what follows is another program's
            command.make_context("webhook", list(line.words[1:]), root)
            return
        with click.Context(command, root, info_name=line.words[0]) as context:
            values, rest, _ = command.make_parser(context).parse_args(words)
            for option in command.params:
                if option.name in values and isinstance(option.type, click.Choice):
                    option.type.convert(values[option.name], option, context)

    assert rest == []


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: f"{line.page}: {' '.join(line.words)}")
def test_files_of_the_repository_in_commands_exist(line: Line) -> None:
    named = [word for word in line.words if word.startswith("examples/")]

    assert [word for word in named if not (ROOT / word).exists()] == []


# ── style ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", PROSE, ids=name)
def test_rows_of_a_table_have_as_many_cells_as_its_head(page: Path) -> None:
    ragged: list[str] = []
    cells = 0
    for line in page.read_text("utf-8").splitlines():
        found = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        cells = cells or found
        if found and found != cells:
            ragged.append(line)
        cells = cells if found else 0

    assert ragged == []


@pytest.mark.parametrize("page", PROSE, ids=name)
def test_prose_has_one_sentence_per_line(page: Path) -> None:
    crowded = [
        line
        for line in _without_code(page.read_text("utf-8")).splitlines()
        if not line.lstrip().startswith(("|", "<!--", "#", ">")) and re.search(r"[a-z)][.!?] [A-Z]", line)
    ]

    assert crowded == []
