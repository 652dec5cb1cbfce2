"""The locked packages: every one has hashes and a licence that the project accepts; no network is needed.

`scripts/check` runs deptry too, which compares the imports of the source with what pyproject.toml declares.
Withdrawn releases and known vulnerabilities are not in any installed file: CI asks pip-audit for them.
"""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
ALLOWED = {
    *("Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT", "MIT-0", "PSF-2.0"),
    "MPL-2.0",  # certifi, hypothesis, pathspec, unchanged: MPL asks for the source of changed files only
}
"""SPDX identifiers; copyleft of whole programs is not among them."""
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
SPELLINGS = {"3-Clause BSD License": "BSD-3-Clause"}
"""Licence fields that are no SPDX identifier, of packages without a classifier."""
UNDECLARED = {"atheris": "Apache-2.0"}
"""Packages whose metadata has no licence; this is the one of the licence file that they install."""


def entries(lock: Path) -> list[str]:
    """The requirements of a lock file with their options, each on one line."""
    text = re.sub(r"\\\n\s*", "", lock.read_text())
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def names(lock: Path) -> set[str]:
    """Normalised names of the packages that this interpreter and platform install."""
    found = [Requirement(line.partition(" --hash")[0]) for line in entries(lock)]
    return {canonicalize_name(one.name) for one in found if _applies(one.marker)}


def _applies(marker: Marker | None) -> bool:
    return marker is None or marker.evaluate()


def licences(package: str) -> set[str]:
    """The licences that the installed metadata of a package declares: expression, classifiers or field."""
    declared = metadata.metadata(package)
    if expression := declared["License-Expression"]:
        return set(re.split(r"\s+(?:AND|OR)\s+|[()]", expression)) - {""}
    classifiers = declared.get_all("Classifier") or []
    prefix = "License :: OSI Approved :: "
    if found := [one.removeprefix(prefix) for one in classifiers if one.startswith(prefix)]:
        return {CLASSIFIERS.get(one, one) for one in found}
    field = declared["License"] or UNDECLARED.get(package, "")
    return {SPELLINGS.get(field, field)}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_locked_package_has_one_version_and_hashes(lock: Path) -> None:
    found = entries(lock)

    assert len(found) > 50
    assert [one for one in found if not re.match(r"[A-Za-z0-9._-]+(\[[a-z0-9,-]+\])?==[^ ;]+", one)] == []
    assert [one for one in found if not re.search(r"--hash=sha256:[0-9a-f]{64}", one)] == []


def test_the_image_installs_the_versions_that_the_tests_use() -> None:
    runtime, dev = (set(entries(ROOT / "requirements" / name)) for name in ("runtime.txt", "dev.txt"))

    assert runtime - dev == set()


def test_every_locked_package_is_installed_in_the_locked_version() -> None:
    locked = {
        canonicalize_name(one.name): str(one.specifier).removeprefix("==")
        for line in entries(ROOT / "requirements" / "dev.txt")
        if _applies((one := Requirement(line.partition(" --hash")[0])).marker)
    }

    assert {name: metadata.version(name) for name in locked} == locked


def test_every_locked_package_has_a_licence_of_the_allow_list() -> None:
    found = {name: licences(name) for lock in LOCKS for name in names(lock)}

    assert {name: sorted(declared) for name, declared in found.items() if not declared <= ALLOWED} == {}


def test_every_dependency_of_the_project_is_locked_for_the_image() -> None:
    declared = {
        canonicalize_name(Requirement(line).name)
        for line in metadata.requires("vestibule") or []
        if "extra == 'simulate'" not in line
    } - {"vestibule"}

    assert declared - names(ROOT / "requirements" / "runtime.txt") == set()
