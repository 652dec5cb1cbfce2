"""CRDs: fresh files, a description for every field, a Ready column for every kind of ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vestibule.manifests import aro_crds, crds

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]


def test_the_definitions_are_fresh() -> None:
    ran = subprocess.run(
        [sys.executable, "scripts/crds.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_texts_of_fields_are_fresh() -> None:
    ran = subprocess.run(
        [sys.executable, "scripts/field_docs.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")


def _undescribed(schema: Json, path: str) -> Iterator[str]:
    for name, child in (schema.get("properties") or {}).items():
        if not child.get("description"):
            yield f"{path}.{name}"
        yield from _undescribed(child, f"{path}.{name}")
    for below in ("items", "additionalProperties"):
        if isinstance(schema.get(below), dict):
            yield from _undescribed(schema[below], f"{path}[]")


ALL = [
    crds.identity_policy(),
    crds.webhook(),
    crds.hosted_webhook(),
    crds.published_issuer(),
    *crds.sandboxes(),
    *aro_crds.definitions(),
]
KINDS = {one["spec"]["names"]["kind"]: one["spec"]["versions"][0] for one in ALL}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_has_a_description(kind: str) -> None:
    found = list(_undescribed(KINDS[kind]["schema"]["openAPIV3Schema"], kind))

    assert found == [f"{kind}.metadata"], "the API server lets nobody describe that one"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "KataConfig"])
def test_every_kind_of_ours_shows_whether_it_is_ready(kind: str) -> None:
    assert "Ready" in [column["name"] for column in KINDS[kind]["additionalPrinterColumns"]]
    status = KINDS[kind]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert "conditions" in status


def test_a_kataconfig_is_left_as_its_operator_defines_it() -> None:
    assert "Ready" not in [column["name"] for column in KINDS["KataConfig"]["additionalPrinterColumns"]]
