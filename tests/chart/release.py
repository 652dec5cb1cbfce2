"""Helm as a process, and what it renders as objects."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
Key = tuple[str, str, str]
ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "vestibule"
NAMESPACE = "vestibule-system"


_RENDERED: dict[str, str] = {}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Helm:
    """One program with a home of its own; nothing of the user's is read."""

    def __init__(self, binary: Path, home: Path, kubeconfig: Path | None = None) -> None:
        self._binary, self._home = binary, home
        self._kubeconfig = kubeconfig

    def run(self, *words: str, values: Object | None = None) -> subprocess.CompletedProcess[str]:
        """One command, with values given as a file."""
        command = [str(self._binary), *words]
        if values is not None:
            path = self._home / "values.yaml"
            path.write_text(json.dumps(values))
            command += ["--values", str(path)]
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._home),
            "KUBECONFIG": str(self._kubeconfig or self._home / "none"),
            "GOGC": "off",  # a third of the work of a program that ends after half a second
            "GOMEMLIMIT": "512MiB",
        }
        return subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=120, check=False, cwd=self._home
        )

    def template(
        self, values: Object | None = None, *more: str, name: str = "vestibule", namespace: str = NAMESPACE
    ) -> list[Object]:
        """The objects of a release; what was rendered before is not rendered again, a test of its own checks
        that it would be the same."""
        requested = json.dumps([values or {}, more, name, namespace])
        if requested not in _RENDERED:
            words = ("template", name, str(CHART), "--namespace", namespace, *more)
            ran = self.run(*words, values=values or {})
            assert ran.returncode == 0, ran.stderr
            _RENDERED[requested] = ran.stdout
        return [obj for obj in yaml.load_all(_RENDERED[requested], Loader=_LOADER) if obj]

    def refused(self, values: Object, *more: str) -> str:
        """What Helm says about values that it does not take."""
        ran = self.run("template", "vestibule", str(CHART), "--namespace", NAMESPACE, *more, values=values)
        assert ran.returncode != 0, ran.stdout
        return ran.stderr


def key(thing: Object) -> Key:
    meta = thing["metadata"]
    return thing["kind"], meta.get("namespace", ""), meta["name"]


def by_key(objects: list[Object]) -> dict[Key, Object]:
    """Objects by kind, namespace and name; none twice."""
    found = {key(obj): obj for obj in objects}
    assert len(found) == len(objects)
    return found


def without_helm(obj: Object) -> Object:
    """An object without what only a release has: Helm's labels, and what Kubernetes would fill in alike."""
    meta = dict(obj["metadata"])
    labels = {
        name: value
        for name, value in meta.get("labels", {}).items()
        if name not in ("helm.sh/chart", "app.kubernetes.io/version", "app.kubernetes.io/managed-by")
    }
    meta["labels"] = labels
    annotations = {
        name: value
        for name, value in meta.pop("annotations", {}).items()
        if name != "helm.sh/resource-policy"
    }
    if annotations:
        meta["annotations"] = annotations
    return {**obj, "metadata": meta}
