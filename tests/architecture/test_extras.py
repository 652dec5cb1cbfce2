"""A command is complete with the extra that ``cli/main.py`` names for it: no library is missing.

One that is missing all the same is reported with the extra that brings it.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture import test_reachable as reachable
from vestibule.cli import main

PROJECT = tomllib.loads((reachable.ROOT / "pyproject.toml").read_text())["project"]
CLOUDS = ("azure", "aws", "gcp")
BESIDE: dict[str, tuple[str, ...]] = {
    "webhook": ("otel",),  # only with --otlp, which reports the extra itself
    "operator": CLOUDS,  # of the cloud whose issuers and vaults it writes; reported in the object's status
    "inject": ("cluster",),
    "explain": ("cluster",),
    "lint": ("cluster",),
    "oidc": CLOUDS,  # of the cloud that it publishes to; reported by the object store
    "azwi": CLOUDS,
}
"""Extras that a command needs for some of its flags only; what is missing then is reported, too."""
OWN = {"vestibule", "vestibule_simulators"}


def brought(extras: Iterable[str]) -> set[str]:
    """All distributions that these extras of ours install, those of others included."""
    found: set[str] = set()
    left = [Requirement(text) for text in PROJECT["dependencies"]]
    left += [Requirement(text) for extra in extras for text in PROJECT["optional-dependencies"][extra]]
    seen: set[str] = set()
    while left:
        one = left.pop()
        name = canonicalize_name(one.name)
        if str(one) in seen:
            continue
        seen.add(str(one))
        if name == "vestibule":
            left += [
                Requirement(text) for extra in one.extras for text in PROJECT["optional-dependencies"][extra]
            ]
            continue
        found.add(name)
        for text in importlib.metadata.requires(name) or ():
            needed = Requirement(text)
            contexts = [{"extra": extra} for extra in ("", *one.extras)]
            if needed.marker is None or any(needed.marker.evaluate(context) for context in contexts):
                left.append(needed)
    return found


PROVIDERS = {
    module: {canonicalize_name(one) for one in providers}
    for module, providers in importlib.metadata.packages_distributions().items()
}


def imported(command: str) -> set[str]:
    """Modules of others that a command imports, at once or later."""
    folder = "vestibule.cli.compat" if command in ("azwi", "ccoctl") else "vestibule.cli"
    found: set[str] = set()
    for name in reachable.reached({f"{folder}.{command}"}):
        if name.partition(".")[0] != "vestibule":
            continue
        imports = reachable.ImportVisitor(name)
        tree = ast.parse(reachable.MODULES[name].read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant):
                node.value = None  # here only what is imported counts
        imports.visit(tree)
        found |= imports.found
    return {name for name in found if name and name.partition(".")[0] not in {*sys.stdlib_module_names, *OWN}}


def missing(names: Iterable[str], installed: set[str]) -> set[str]:
    """Those that no installed distribution brings. ``azure`` and ``google`` are shared by many: there the
    file decides."""
    absent = set()
    for name in names:
        top = name.partition(".")[0]
        providers = PROVIDERS.get(top, set())
        if len(providers) > 1:
            providers = {one for one in providers if _holds(one, name)}
            if not providers:
                continue  # a name inside of a module
        if not providers & installed:
            absent.add(name)
    return absent


def _holds(distribution: str, module: str) -> bool:
    path = module.replace(".", "/")
    files = {str(one) for one in importlib.metadata.files(distribution) or ()}
    return f"{path}.py" in files or f"{path}/__init__.py" in files


def test_every_command_has_an_extra() -> None:
    assert main.EXTRAS.keys() == set(main.cli.list_commands(None))  # type: ignore[arg-type]
    named = {extra for text in main.EXTRAS.values() for extra in text.split(",")} | {*main.OPTIONAL.values()}
    assert named <= PROJECT["optional-dependencies"].keys()


@pytest.mark.parametrize("command", main.EXTRAS)
def test_the_extra_of_a_command_brings_all_that_it_imports(command: str) -> None:
    extras = [*main.EXTRAS[command].split(","), *BESIDE.get(command, ())]
    if command == "simulate":
        extras = ["offline", "azure"]  # vestibule-simulators is not on this index; its own test has its list

    assert missing(imported(command), brought(extras)) == set()


def test_a_library_that_no_extra_brings_would_be_found() -> None:
    assert missing(imported("aws"), brought(["offline"])) >= {"boto3", "cryptography"}
    assert missing(imported("azure"), brought(["cli"])) >= {"azure.identity"}
    assert missing(imported("gcp"), brought(["cli"])) >= {"google.auth"}


SHIM = """
import importlib.abc, json, sys
blocked = set(json.loads(sys.argv.pop(1)))
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from vestibule.cli.main import main
main()
"""


def run(extras: list[str], *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command line where only these extras are installed."""
    installed = brought(extras)
    blocked = [
        module for module, providers in PROVIDERS.items() if not providers & installed and module not in OWN
    ]
    command = [sys.executable, "-c", SHIM, json.dumps(blocked), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_key_pair_is_made_with_the_extra_of_the_cloud_alone(cloud: str, tmp_path: Path) -> None:
    done = run([cloud], cloud, "create-key-pair", "--output-dir", "out", folder=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out" / "serviceaccount-signer.public").exists()


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n"
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: a, user: {token: t}}]
"""
REPORTED = {
    "aws": ([], ("aws", "create-key-pair", "--output-dir", "out"), "aws"),
    "ccoctl": ([], ("ccoctl", "aws", "create-key-pair", "--output-dir", "out"), "azure,aws,gcp"),
    "doctor": (["offline"], ("doctor", "--kubeconfig", "kubeconfig", "--context", "a"), "cli"),
    "lint": ([], ("lint", "-f", "pod.yaml"), "offline"),
    "explain on a cluster": (["offline"], ("explain", "-f", "pod.yaml", "--kubeconfig", "k.yaml"), "cluster"),
    "oidc": ([], ("oidc", "create-key-pair", "--output-dir", "out"), "cli"),
    "operator": ([], ("operator",), "operator"),
    "webhook": ([], ("webhook", "--self-signed"), "webhook"),
}


@pytest.mark.parametrize("case", REPORTED)
def test_a_missing_library_is_reported_with_the_extra_that_brings_it(case: str, tmp_path: Path) -> None:
    extras, arguments, wanted = REPORTED[case]
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "k.yaml").write_text(KUBECONFIG)
    done = run(extras, *arguments, folder=tmp_path)

    assert f"pip install 'vestibule[{wanted}]'" in done.stderr, done.stderr
    assert (done.returncode, done.stderr.count("\n"), "Traceback" in done.stderr) == (1, 1, False)
    assert not (tmp_path / "out").exists()
