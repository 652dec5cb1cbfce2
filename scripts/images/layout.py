"""An OCI image layout from trees of files: the same bytes from the same files, whoever builds and when."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

_INDEX: Final = "application/vnd.oci.image.index.v1+json"
_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"


class Layer(NamedTuple):
    """A tree as a layer: its bytes, and the digest of what they unpack to."""

    about: str
    data: bytes
    diff_id: str


def digest(data: bytes) -> str:
    """As OCI writes it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def layer(about: str, tree: Path, when: int, *, below: Path | None = None) -> Layer:
    """A layer of every file of ``tree`` that ``below`` has not: owned by root, times fixed, sorted."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in _names(tree):
            if below is not None and os.path.lexists(f"{below}/{name}"):
                continue
            path, entry = f"{tree}/{name}", tarfile.TarInfo(name)
            entry.mtime, found = when, os.lstat(path)
            if stat.S_ISLNK(found.st_mode):
                # os.readlink: pathlib would tidy up the target
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, os.readlink(path), 0o777  # noqa: PTH115
                archive.addfile(entry)
            elif stat.S_ISDIR(found.st_mode):
                entry.type, entry.mode = tarfile.DIRTYPE, found.st_mode & 0o7777
                archive.addfile(entry)
            else:
                entry.size = found.st_size
                entry.mode = 0o755 if found.st_mode & 0o100 else 0o644
                with open(path, "rb") as content:  # noqa: PTH123
                    archive.addfile(entry, content)
    plain = packed.getvalue()
    return Layer(about, gzip.compress(plain, 6, mtime=0), digest(plain))


def _names(tree: Path) -> list[str]:
    """Everything below a tree, sorted part by part; as text, for there are thousands."""
    found: list[str] = []
    for folder, inside, files in os.walk(tree):
        below = os.path.relpath(folder, tree)
        found += [name if below == "." else f"{below}/{name}" for name in (*inside, *files)]
    return sorted(found, key=lambda name: name.split("/"))


def config(layers: Iterable[Layer], how: Mapping[str, Any], platform: str, created: str) -> bytes:
    """The configuration of the image."""
    made = {
        "created": created,
        "architecture": platform,
        "os": "linux",
        "config": dict(how),
        "rootfs": {"type": "layers", "diff_ids": [one.diff_id for one in layers]},
        "history": [{"created": created, "created_by": one.about} for one in layers],
    }
    return json.dumps(made, sort_keys=True, separators=(",", ":")).encode()


def write(target: Path, layers: list[Layer], configuration: bytes, tag: str, when: int) -> str:
    """One file with the whole layout, as container engines load it; the digest of the manifest."""
    blobs = {digest(one.data): one.data for one in layers}
    blobs[digest(configuration)] = configuration
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _descriptor(_CONFIG, configuration),
            "layers": [_descriptor(_LAYER, one.data) for one in layers],
        }
    )
    blobs[digest(manifest)] = manifest
    described = {
        **_descriptor(_MANIFEST, manifest),
        "annotations": {"org.opencontainers.image.ref.name": tag},
    }
    files = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "mediaType": _INDEX, "manifests": [described]}),
        **{f"blobs/sha256/{name.partition(':')[2]}": data for name, data in blobs.items()},
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for folder in ("blobs", "blobs/sha256"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, when
            archive.addfile(entry)
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(data), 0o644, when
            archive.addfile(entry, io.BytesIO(data))
    return digest(manifest)


def _descriptor(kind: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": digest(data), "size": len(data)}


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
