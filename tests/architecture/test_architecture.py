"""What import contracts cannot check: purity, sizes, unique names, and what a process loads."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from vestibule import __version__, errors

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "vestibule"
MODULES = sorted(SOURCE.rglob("*.py"))
SIMULATORS = sorted((ROOT / "simulators" / "src").rglob("*.py"))
PURE = ("admission", "api", "aro", "checks", "compat", "initdata", "injection", "manifests", "oidc", "pki")


def name(path: Path) -> str:
    return str(path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT))


def test_pure_packages_await_nothing() -> None:
    guilty = [
        name(path)
        for path in MODULES
        if path.relative_to(SOURCE).parts[0] in PURE
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.AsyncFunctionDef | ast.Await)
    ]

    assert guilty == []


def test_no_file_is_over_400_lines() -> None:
    long = {name(path): count for path in MODULES if (count := len(path.read_text().splitlines())) > 400}

    assert long == {}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_every_module_says_what_lives_there(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_every_folder_of_code_is_a_package() -> None:
    bare = {name(path.parent) for path in MODULES if not (path.parent / "__init__.py").exists()}

    assert bare == set()


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Whether it only tidies up and lets the exception go its way."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_only_the_guard_catches_everything() -> None:
    guards = {
        name(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and not _passes_on(node)
        and (
            node.type is None
            or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
        )
    }

    assert guards == {"httpserver/endpoint.py", "operator/controller.py"}


def test_a_class_name_is_used_once() -> None:
    found: dict[str, list[str]] = {}
    for path in (*MODULES, *SIMULATORS):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(name(path))

    assert {cls: paths for cls, paths in found.items() if len(paths) > 1} == {}


def test_every_package_is_in_the_layers_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one for one in contracts if one["name"] == "layers of packages")["layers"]
    listed = {part.strip().removeprefix("vestibule.") for layer in layers for part in layer.split("|")}
    entries = (path for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
    existing = {path.stem for path in entries}

    assert existing - {"__init__", "__main__"} == listed


def test_modules_have_no_vague_names() -> None:
    vague = {
        name(path)
        for path in MODULES
        if path.stem in ("util", "utils", "common", "helper", "misc", "base_utils")
    }

    assert vague == set()


def loaded(statement: str) -> set[str]:
    """Names of the top-level modules that are loaded after the statement, in a fresh interpreter."""
    code = f"{statement}\nimport sys\nprint(' '.join(sorted({{m.partition('.')[0] for m in sys.modules}})))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(result.stdout.split())


def test_the_webhook_process_loads_no_cloud_sdk_no_yaml_and_no_crypto() -> None:
    modules = loaded("import vestibule.webhook.app, vestibule.cli.webhook")

    assert (
        modules & {"yaml", "ruamel", "jinja2", "cryptography", "boto3", "botocore", "azure", "google", "rich"}
        == set()
    )


def test_the_operator_loads_no_cloud_sdk_before_a_place_is_used() -> None:
    modules = loaded("import vestibule.operator.app, vestibule.cli.operator")

    assert modules & {"boto3", "botocore", "azure", "google"} == set()


def test_help_loads_no_app() -> None:
    modules = loaded(
        "from vestibule.cli.main import cli\n"
        "import contextlib, io\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    cli.main(['--help'], standalone_mode=False)"
    )

    assert (
        modules
        & {"yaml", "ruamel", "rich", "uvloop", "httptools", "prometheus_client", "cryptography", "asyncio"}
        == set()
    )


def test_the_drawn_tree_of_errors_is_the_real_one() -> None:
    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__ or "")
    real = [
        cls.__name__
        for cls in vars(errors).values()
        if isinstance(cls, type)
        and issubclass(cls, errors.VestibuleError)
        and cls is not errors.VestibuleError
    ]

    assert sorted(drawn) == sorted(real)
    assert set(errors.__all__) == {*real, "VestibuleError", "InputProblem"}


def test_the_changelog_knows_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()

    assert re.search(rf"^## \[?{re.escape(__version__)}\b", changelog, re.MULTILINE)


def test_no_file_names_a_package_index_or_a_path_of_a_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    suspicious = re.compile(
        r"--(extra-)?index[-]url|--find[-]links[ =]|registry[+]https?:|GOPROXY[=]https?:"
        r"|[/]root/|[/]home/\w+/"
    )
    here = Path(__file__).relative_to(ROOT)
    guilty = [
        path
        for path in listed.stdout.splitlines()
        if Path(path) != here
        and (ROOT / path).is_file()
        and suspicious.search((ROOT / path).read_text(errors="ignore"))
    ]

    assert guilty == []
