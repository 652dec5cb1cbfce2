"""kubeconfig files for the rig's users, with the certificates inside or beside."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import yaml

from tests.rig import pki


def write(path: Path, server: str, ca: Path, pair: pki.Pair, *, embed: bool = True) -> Path:
    """One cluster, one user, one context, all named ``rig``; the file is 0600."""
    cluster: dict[str, Any] = {"server": server, **_entry("certificate-authority", ca, embed)}
    user = {**_entry("client-certificate", pair.cert, embed), **_entry("client-key", pair.key, embed)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "rig",
        "clusters": [{"name": "rig", "cluster": cluster}],
        "users": [{"name": "rig", "user": user}],
        "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": "rig"}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pki.write_private(path, yaml.safe_dump(document, sort_keys=False).encode())
    return path


def _entry(key: str, path: Path, embed: bool) -> dict[str, str]:
    if embed:
        return {f"{key}-data": base64.b64encode(path.read_bytes()).decode()}
    return {key: str(path)}
