"""What the rig is made of: program, Go module folder, package, version, and where the binary is cached.

The versions stand in ``modules/*/go.mod`` too; a test compares them. Default is the newest API server that
we support, ``old`` the oldest.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

MODULES = Path(__file__).resolve().parent / "modules"
NEW, OLD = "v1.36.3", "v1.32.2"
CORE = ("etcd", "kube-apiserver", "kube-controller-manager")
"""Enough for pods that are created; the scheduler and kwok are for pods that must run."""


class Binary(NamedTuple):
    """One program at one version."""

    name: str
    module: str
    package: str
    version: str

    @property
    def path(self) -> Path:
        return cache() / "rig" / self.version / self.name

    @property
    def link_flags(self) -> str:
        """No symbol tables (a third of the size); Kubernetes learns its version only here, Helm also that of
        the cluster it takes for granted."""
        if self.name == "helm":
            reported = {"internal/version.version": self.version}
            for package in ("pkg/chartutil", "pkg/lint/rules"):
                reported |= {
                    f"{package}.k8sVersionMajor": NEW.split(".", maxsplit=1)[0][1:],
                    f"{package}.k8sVersionMinor": NEW.split(".")[1],
                }
            return " ".join(
                ["-s -w", *(f"-X helm.sh/helm/v3/{key}={value}" for key, value in reported.items())]
            )
        if not self.package.startswith("k8s.io/"):
            return "-s -w"
        major, minor, _ = self.version.removeprefix("v").split(".")
        reported = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
        return " ".join(
            ["-s -w", *(f"-X k8s.io/component-base/version.{key}={value}" for key, value in reported.items())]
        )


def _kubernetes(module: str, version: str) -> list[Binary]:
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    return [Binary(name, module, f"k8s.io/kubernetes/cmd/{name}", version) for name in names]


_SHARED = [
    Binary("etcd", "etcd", "go.etcd.io/etcd/server/v3", "v3.6.0"),
    Binary("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", "v0.8.0"),
]
BINARIES = {
    NEW: {binary.name: binary for binary in _SHARED + _kubernetes("control-plane", NEW)},
    OLD: {binary.name: binary for binary in _SHARED + _kubernetes("control-plane-old", OLD)},
}
HELM = Binary("helm", "helm", "helm.sh/helm/v3/cmd/helm", "v3.22.0")
"""No part of a control plane: only the tests of the chart ask for it, so nobody else waits for its build."""
CLUSTER_API = Binary("cluster-api", "cluster-api", "sigs.k8s.io/cluster-api", "v1.13.6")
"""Its core manager; only the tests of ARO ask for it."""


def known(version: str) -> dict[str, Binary]:
    """Everything that can be built for a version of the API server."""
    return {**BINARIES[version], HELM.name: HELM, CLUSTER_API.name: CLUSTER_API}


def cache() -> Path:
    """The user's cache folder of this project, outside the work tree."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "vestibule"


def chosen() -> str:
    """The version of the API server that ``VESTIBULE_RIG_VERSION`` asks for: ``old``, or one of ours.

    Raises ValueError for a version that has no module folder.
    """
    requested = os.environ.get("VESTIBULE_RIG_VERSION") or NEW
    version = OLD if requested == "old" else requested
    if version not in BINARIES:
        raise ValueError(f"VESTIBULE_RIG_VERSION is {requested!r}, want old or one of {', '.join(BINARIES)}")
    return version
