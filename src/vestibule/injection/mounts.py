"""Which tokens and files of ours a container of a finished pod sees, path by path.

The deepest mount over a path decides what is there, and a mount below that one hides part of it. Paths are
compared as the container runtime resolves them: without ``.``, ``..`` and doubled slashes, ``/var/run`` as
``/run``, and without regard to case, as on Windows. Where two of them are ambiguous, the result is
unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

Object = Mapping[str, Any]

_MOST_MOUNTS: Final = 64
_DEEPEST: Final = 32
"""Mounts of a container that sees a token, and parts of their paths; with more, it is unclear."""
LONGEST_PATH: Final = 1024


class VolumeTokens(NamedTuple):
    """The ServiceAccount tokens of a volume."""

    files: dict[str, str | None]
    """File and audience; None where two tokens want one file."""
    clouds: frozenset[str]
    """The clouds that such audiences are usually for; ``any`` where one is for none of them."""


ANY: Final = "any"


def tokens(volumes: object) -> dict[str, VolumeTokens]:
    """Volumes with ServiceAccount tokens. Tokens for the API server itself are no identity in a cloud."""
    found: dict[str, VolumeTokens] = {}
    for volume in objects(volumes):
        projected = volume.get("projected")
        if not isinstance(projected, dict):
            continue
        files: dict[str, str | None] = {}
        clouds: set[str] = set()
        for source in objects(projected.get("sources")):
            token = source.get("serviceAccountToken")
            if isinstance(token, dict) and token.get("audience"):
                path, audience = plain(str(token.get("path"))), str(token["audience"])
                files[path] = audience if files.get(path, audience) == audience else None
                clouds.add(_cloud(audience))
        if files:
            found[str(volume.get("name"))] = VolumeTokens(files, frozenset(clouds))
    return found


def _cloud(audience: str) -> str:
    """The cloud that an audience is usually for."""
    if "amazonaws.com" in audience:
        return "aws"
    if "AzureADTokenExchange" in audience:
        return "az"
    return "gcp" if "googleapis.com" in audience else ANY


class _MountedPath(NamedTuple):
    """What is mounted at a path."""

    volume: str
    below: str
    """A path inside the volume."""
    hidden: bool = False
    """Whether another mount lies below this one, and may hide part of it."""


_UNKNOWN: Final = _MountedPath("?", "")
_NOTHING: Final = _MountedPath("", "")


class Mounts:
    """The mounts of one container. Tokens are looked up when a file is named: a volume may hold thousands of
    them, and every container may mount it."""

    __slots__ = ("_listed", "_places", "_tokens", "_unclear", "_volumes")

    def __init__(self, container: Object, held: Mapping[str, VolumeTokens]) -> None:
        self._tokens = held
        self._listed = container.get("volumeMounts"), container.get("volumeDevices")
        self._volumes = {str(one.get("name")) for one in objects(self._listed[0])} & held.keys()
        self._places: dict[str, _MountedPath] = {}
        self._unclear: bool | None = None

    def __bool__(self) -> bool:
        """Whether the container sees a token."""
        return bool(self._volumes)

    @property
    def clouds(self) -> frozenset[str]:
        """Clouds that would take one of the tokens."""
        return frozenset(cloud for name in self._volumes for cloud in self._tokens[name].clouds)

    @property
    def key(self) -> object:
        """The same for containers that see the same tokens at the same paths."""
        if not self._volumes:
            return ""
        if self._read():
            return "unclear"
        holding = tuple(f"{path}/" for path, place in self._places.items() if place.volume in self._tokens)
        return frozenset(
            (path, place)
            for path, place in self._places.items()
            if place.volume in self._tokens or path.startswith(holding)
        )

    def audience(self, path: str) -> str | None:
        """The audience of the token at a path (of ``resolved``); None when none is there, and empty when one
        may be there and it is unknown which."""
        if not self._volumes:
            return None
        found = self._at(path)
        if found is None:
            return ""
        held = self._tokens.get(found.volume)
        if held is None or found.below not in held.files:
            return None
        return "" if found.hidden else held.files[found.below] or ""

    def volume(self, path: str) -> str | None:
        """The volume that the file at a path (of ``resolved``) is of; None when it is unknown, or when
        only a part of the volume is mounted."""
        found = self._at(path)
        return None if found is None or found.hidden or "/" in found.below else found.volume

    def _at(self, path: str) -> _MountedPath | None:
        """What is at a path; None: unknown."""
        if self._read():
            return None
        best = next((one for one in _upwards(path) if one in self._places), None)
        if best is None:
            return _NOTHING
        place = self._places[best]
        if place is _UNKNOWN:
            return None
        below = "/".join(filter(None, (place.below, path[len(best) :].strip("/"))))
        inside = f"{best}/" if best else ""
        hidden = any(one.startswith(inside) and one != best for one in self._places)
        return _MountedPath(place.volume, below, hidden=hidden)

    def _read(self) -> bool:
        """Reads the mounts once; whether some are ambiguous."""
        if self._unclear is None:
            mounts, devices = (list(objects(one)) for one in self._listed)
            self._unclear = len(mounts) + len(devices) > _MOST_MOUNTS
            if not self._unclear:
                for mount in mounts:
                    inside = mount.get("subPath")
                    below = plain(str(inside)[:LONGEST_PATH]) if inside else ""
                    place = (
                        _UNKNOWN if mount.get("subPathExpr") else _MountedPath(str(mount.get("name")), below)
                    )
                    self._add(mount.get("mountPath"), place)
                for device in devices:
                    self._add(device.get("devicePath"), _UNKNOWN)
        return self._unclear

    def _add(self, path: object, place: _MountedPath) -> None:
        where = plain(str(path)[: LONGEST_PATH + 1])
        if len(where) > LONGEST_PATH or where.count("/") >= _DEEPEST:
            self._unclear = True
            return
        self._places[where] = place if self._places.get(where, place) == place else _UNKNOWN


def _upwards(path: str) -> Iterator[str]:
    """A path and those above it, the deepest first; the last is the root."""
    end = len(path)
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)
    yield ""


def resolved(file: object) -> str | None:
    """The path that a variable or credentials file names, as mounts are compared; None: the target is
    unknown."""
    if not isinstance(file, str) or len(file) > LONGEST_PATH:
        return None
    if not (file.startswith("/") or file[1:3] in (":\\", ":/")) or "/.." in file.replace("\\", "/"):
        return None
    path = plain(file)
    return path if path.count("/") < _DEEPEST else None


_SIMPLE: Final = re.compile(r"/?(?:[a-z0-9_-][a-z0-9._-]*/)*[a-z0-9_-][a-z0-9._-]*/?")
"""A path in which nothing is to be resolved but a link."""


def plain(path: str) -> str:
    """A path in the one way in which all are compared."""
    path = path.lower()
    if _SIMPLE.fullmatch(path):
        path = path.strip("/")
        return path[4:] if path == "var/run" or path.startswith("var/run/") else path
    parts = path.replace("\\", "/").split("/")
    if len(parts[0]) == 2 and parts[0].endswith(":"):
        parts = parts[1:]
    found: list[str] = []
    for part in parts:
        if part == "..":
            del found[-1:]
        elif part not in ("", "."):
            found.append(part)
    if found[:2] == ["var", "run"]:
        del found[0]
    return "/".join(found)


def objects(raw: object) -> Iterator[Object]:
    """The objects of a list; whatever else is in it is left to the API server."""
    if isinstance(raw, list):
        yield from (item for item in raw if isinstance(item, dict))
