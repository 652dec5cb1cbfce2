"""Definitions of other projects' kinds, as they ship them in their Go modules.

The files are fetched once by Go, checked against ``modules/definitions/go.sum``, and kept in Go's own cache.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.rig import build, catalogue, toolchain
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Object = dict[str, Any]
HYPERSHIFT = (
    "github.com/openshift/hypershift/api",
    "hypershift/v1beta1/zz_generated.featuregated-crd-manifests/"
    "hostedcontrolplanes.hypershift.openshift.io/AAA_ungated.yaml",
)
CERT_MANAGER = tuple(
    ("github.com/cert-manager/cert-manager", f"deploy/crds/cert-manager.io_{plural}.yaml")
    for plural in ("certificates", "issuers")
)
KUBEADM = (
    "sigs.k8s.io/cluster-api",
    "controlplane/kubeadm/config/crd/bases/controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml",
)
CLUSTER = ("sigs.k8s.io/cluster-api", "config/crd/bases/cluster.x-k8s.io_clusters.yaml")
SECONDS = 300.0


@functools.cache
def _folder(module: str) -> Path:
    """Where a module lies. Raises CannotBuild when it cannot be had."""
    home = catalogue.MODULES / "definitions"
    expected = re.search(r"^go (\S+)$", (home / "go.mod").read_text(), re.MULTILINE)
    assert expected is not None
    go = toolchain.go(tuple(map(int, expected[1].split("."))), build.say)
    extra = {"GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "-mod=readonly"}
    done = subprocess.run(
        [str(go), "mod", "download", "-json", module],
        cwd=home,
        env={**os.environ, **extra},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise toolchain.CannotBuild(f"{module} cannot be fetched: {done.stderr.strip()[-200:]}")
    return Path(json.loads(done.stdout)["Dir"])


def read(source: tuple[str, str]) -> Object:
    """One definition."""
    module, path = source
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Object = yaml.load((_folder(module) / path).read_text(), Loader=loader)  # noqa: S506
    annotations = found["metadata"].get("annotations", {})
    # a generator's mark whose key no API server takes
    found["metadata"]["annotations"] = {
        key: text for key, text in annotations.items() if not key.endswith("/")
    }
    return found


def install(plane: ControlPlane, *sources: tuple[str, str]) -> list[str]:
    """Create definitions and wait until their kinds are served; their paths."""
    paths = []
    for source in sources:
        definition = read(source)
        definition.pop("status", None)
        path = at(
            "customresourcedefinitions", name=definition["metadata"]["name"], api="apiextensions.k8s.io/v1"
        )
        plane.admin.apply(path, definition, "rig", force=True).object  # noqa: B018 - raises
        paths.append(path)
    for path in paths:
        plane.admin.wait(path, _established)
    return paths


@contextlib.contextmanager
def installed(plane: ControlPlane, *sources: tuple[str, str]) -> Iterator[None]:
    """Definitions, and gone again at the end: who finds a kind there believes that it is in use."""
    paths = install(plane, *sources)
    try:
        yield
    finally:
        for path in paths:
            plane.admin.delete(path)
            plane.admin.wait_gone(path)


def _established(item: Object) -> bool:
    found = (item.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in found)
