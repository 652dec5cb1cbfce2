"""The bill of materials: what the lock file says, and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from scripts.images import wheels

from tests.image.unpacked import ROOT

pytestmark = pytest.mark.rig

LOCK = ROOT / "requirements" / "runtime.txt"
Object = dict[str, Any]


def made(folder: Path, *words: str, **environ: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "scripts.sbom", "--output", str(folder), *words],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return Path(ran.stdout.strip()).read_text("utf-8")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return made(tmp_path_factory.mktemp("sbom"))


@pytest.fixture
def bill(text: str) -> Object:
    found: Object = json.loads(text)
    return found


def test_the_same_lock_file_gives_the_same_text(text: str, tmp_path: Path) -> None:
    assert made(tmp_path, PYTHONHASHSEED="5") == text


def test_it_is_cyclonedx(bill: Object) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert uuid.UUID(bill["serialNumber"].removeprefix("urn:uuid:")).version == 5
    assert bill.keys() <= {
        "bomFormat",
        "specVersion",
        "version",
        "serialNumber",
        "metadata",
        "components",
        "dependencies",
    }
    for one in bill["components"]:
        assert one["type"] in ("library", "application")
        assert one.keys() <= {
            "type", "bom-ref", "name", "version", "purl", "hashes", "licenses", "properties", "description",
        }  # fmt: skip
        assert re.fullmatch(r"pkg:(pypi|generic)/[a-z0-9._-]+@\S+", one["purl"])


def test_every_package_is_the_locked_one(bill: Object) -> None:
    locked = wheels.locked(LOCK)
    packages = {one["name"]: one for one in bill["components"] if one["purl"].startswith("pkg:pypi/")}

    assert packages.keys() <= locked.keys()
    # what is not there is for other systems
    assert locked.keys() - packages.keys() <= {"colorama", "tzdata", "winloop", "pywin32"}
    for name, one in packages.items():
        assert one["version"] == locked[name].version
        [digest] = one["hashes"]
        assert digest["alg"] == "SHA-256"
        assert digest["content"] in locked[name].hashes


def test_every_package_has_a_licence(bill: Object) -> None:
    assert [one["name"] for one in bill["components"] if not one.get("licenses")] == []


def test_needs_name_components_and_everything_is_needed_by_somebody(bill: Object) -> None:
    known = {one["bom-ref"] for one in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    needed = {ref for one in bill["dependencies"] for ref in one["dependsOn"]}

    assert {one["ref"] for one in bill["dependencies"]} | needed == known
    assert known - needed == {bill["metadata"]["component"]["bom-ref"]}


def test_some_extras_have_a_shorter_bill(tmp_path: Path) -> None:
    short = json.loads(made(tmp_path, "--extras", "webhook,cluster,pki"))
    names = {one["name"] for one in short["components"]}

    assert {"aiohttp", "uvloop", "cryptography"} <= names
    assert "boto3" not in names


def test_a_time_is_reported_where_one_is_given(tmp_path: Path) -> None:
    reported = json.loads(made(tmp_path, SOURCE_DATE_EPOCH="86400"))

    assert reported["metadata"]["timestamp"] == "1970-01-02T00:00:00Z"
