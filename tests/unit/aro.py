"""ARO objects for tests: a whole, sound cluster, and ways to change one of its values."""

from __future__ import annotations

import copy
from typing import Any

from vestibule.aro import embedded
from vestibule.aro.manifest_reader import ManifestReader
from vestibule.aro.scaffold import manifests

Json = dict[str, Any]
ANSWERS = manifests.ScaffoldAnswers(
    "shop",
    "00000000-0000-0000-0000-000000000001",
    "eastus",
    identity="capz",
    issuer="https://login.example.com/v2.0",
    audience="console",
)
HCP = "redhatopenshift.azure.com/v1api20260630preview"


def objects(**responses: Any) -> dict[str, Json]:
    """The manifests of a cluster, by kind."""
    return {one["kind"]: one for one in manifests.manifests(ANSWERS._replace(**responses))}


def changed(owner: Json, kind: str, path: str, value: Any) -> Json:
    """The owner with another value in its embedded resource of a kind."""
    created = copy.deepcopy(owner)
    listed = created["spec"]["resources"]
    index = next(number for number, one in enumerate(listed) if one["kind"] == kind)
    listed[index] = embedded.with_value(listed[index], path, value)
    return created


def reader(*more: Json) -> ManifestReader:
    return ManifestReader(more)
