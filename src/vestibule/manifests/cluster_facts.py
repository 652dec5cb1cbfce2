"""What a cluster says about itself, as far as an installation cares: version, kinds it serves, what is there
already.

Values only. ``kube/preflight`` asks the cluster, ``adapt`` decides what follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Object = dict[str, Any]
ApiKind = tuple[str, str]
"""apiVersion and kind."""


class ApiServerVersion(NamedTuple):
    """Of the API server."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class ServedResource(NamedTuple):
    """How a kind is addressed."""

    plural: str
    namespaced: bool


class ClusterFacts(NamedTuple):
    """One look at one cluster."""

    version: ApiServerVersion
    groups: frozenset[str]
    """Every API group, whatever its versions."""
    served: Mapping[ApiKind, ServedResource]
    """Of the apiVersions that an installation uses, the kinds."""
    found: tuple[Object, ...] = ()
    """Those of the cluster-wide objects to be installed that exist already."""
    webhook_configurations: tuple[Object, ...] = ()
    """Every MutatingWebhookConfiguration."""
    unseen: tuple[str, ...] = ()
    """What we were not allowed to look at, in the server's words."""


def version(document: Mapping[str, Any]) -> ApiServerVersion | None:
    """From the answer to ``/version``; None when there is none in it. Some clusters say ``28+``."""
    parts = [re.match(r"\d+", str(document.get(field, ""))) for field in ("major", "minor")]
    major, minor = (int(found[0]) if found else None for found in parts)
    return None if major is None or minor is None else ApiServerVersion(major, minor)


def versions(groups: Mapping[str, Any]) -> frozenset[str]:
    """Every apiVersion in the answer to ``/apis``."""
    return frozenset(
        str(served.get("groupVersion"))
        for group in groups.get("groups") or ()
        for served in group.get("versions") or ()
    )


def resources(api_version: str, document: Mapping[str, Any]) -> dict[ApiKind, ServedResource]:
    """From the answer to ``/apis/GROUP/VERSION`` or ``/api/v1``; subresources are left out."""
    return {
        (api_version, str(found["kind"])): ServedResource(str(found["name"]), found.get("namespaced") is True)
        for found in document.get("resources") or ()
        if "/" not in str(found["name"])
    }


def name(obj: Mapping[str, Any]) -> str:
    """An object as people say it: kind, namespace, name."""
    meta = obj["metadata"]
    where = f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]
    return f"{obj['kind']} {where}"


def labels(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of an object."""
    found: Mapping[str, str] = (obj.get("metadata") or {}).get("labels") or {}
    return found


def api_versions(objects: Iterable[Object]) -> list[str]:
    """Every apiVersion of these objects, once."""
    return sorted({str(obj["apiVersion"]) for obj in objects})
