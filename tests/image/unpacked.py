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


COPIED = ("LICENSE", "pyproject.toml", "requirements/runtime.txt", "scripts", "src")
"""What the recipe copies."""


def copied(source: Path, target: Path) -> None:
    """The sources of an image, and no more."""
    for name in COPIED:
        where = target / name
        where.parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, where, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source / name, where)


def build(folder: Path, *words: str, source: Path = ROOT, **environ: str) -> subprocess.CompletedProcess[str]:
    """One run of ``scripts/image``."""
    return subprocess.run(
        [sys.executable, "-m", "scripts.image", "--output", str(folder), *words],
        cwd=source,
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
        how = self.config["config"]
        variables = dict(line.split("=", 1) for line in how["Env"])
        return enter(self.root, variables, [*how["Entrypoint"], *arguments])


def enter(root: Path, variables: dict[str, str], command: list[str]) -> subprocess.Popen[str]:
    """A command in a tree that cannot be written to; as the user of the image where we may choose."""
    alone = os.geteuid() == 0
    unshare = ["unshare", *([] if alone else ["-r"]), "-m", "--propagation", "private"]
    script = [sys.executable, str(Path(__file__).with_name("enter.py")), str(root), str(CLUSTER)]
    environ = {
        "PATH": os.environ["PATH"],
        "CHOOSE_USER": "yes" if alone else "no",
        "IMAGE_ENV": "\n".join(f"{name}={value}" for name, value in variables.items()),
    }
    return subprocess.Popen(
        [*unshare, *script, *command],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
