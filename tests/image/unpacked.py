"""An image as a test wants it: built, unpacked, started."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "examples" / "demo" / "cluster"
Object = dict[str, Any]


def build(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """One run of ``scripts/image``."""
    return subprocess.run(
        [sys.executable, "-m", "scripts.image", "--output", str(folder), *words],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


class Image:
    """The layout in one file, read."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        with tarfile.open(path) as archive:
            archive.extractall(folder / "layout", filter="data")
        self.layout = folder / "layout"
        self.index: Object = json.loads((self.layout / "index.json").read_text())
        self.digest: str = self.index["manifests"][0]["digest"]
        self.manifest: Object = json.loads(self.blob(self.digest))
        self.config: Object = json.loads(self.blob(self.manifest["config"]["digest"]))
        self.root = folder / "root"
        self.entries: dict[str, tarfile.TarInfo] = {}
        for layer in self.manifest["layers"]:
            with tarfile.open(self.layout / "blobs" / "sha256" / layer["digest"][7:]) as archive:
                self.entries |= {entry.name: entry for entry in archive}
                archive.extractall(self.root, filter="tar")

    def blob(self, digest: str) -> bytes:
        """A blob, checked."""
        data = (self.layout / "blobs" / "sha256" / digest.removeprefix("sha256:")).read_bytes()
        assert f"sha256:{hashlib.sha256(data).hexdigest()}" == digest
        return data

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The entry point with arguments, on a read-only root."""
        alone = os.geteuid() == 0
        unshare = [
            shutil.which("unshare") or "unshare",
            *([] if alone else ["-r"]),
            "-m",
            "--propagation",
            "private",
        ]
        enter = [sys.executable, str(Path(__file__).with_name("enter.py")), str(self.root), str(CLUSTER)]
        environ = {
            "PATH": os.environ["PATH"],
            "CHOOSE_USER": "yes" if alone else "no",
            "IMAGE_ENV": "\n".join(self.config["config"]["Env"]),
        }
        return subprocess.Popen(
            [*unshare, *enter, *self.config["config"]["Entrypoint"], *arguments],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
