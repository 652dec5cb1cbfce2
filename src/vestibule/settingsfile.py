"""The settings file on disk: TOML, JSON or YAML by its ending; errors with path and line; watched for change.

TOML and JSON need nothing but the standard library; YAML is imported only for YAML files, so
that the admission process stays small. A file that turns bad is reported and the last good settings stay in
force.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from vestibule import errors
from vestibule.api.settings import schema
from vestibule.compat import cwii_flags

_NOTHING: Final[Mapping[str, Any]] = {}


def read(path: Path) -> tuple[Any, str]:
    """The decoded file and its text; raises InvalidSettings with file and line."""
    place = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise errors.InvalidSettings(errors.InputProblem(place, "", "does not exist")) from None
    except (OSError, UnicodeDecodeError) as error:
        raise errors.InvalidSettings(errors.InputProblem(place, "", f"cannot be read: {error}")) from error
    if path.suffix == ".toml":
        return _toml(place, text), text
    if path.suffix == ".json":
        return _json(place, text), text
    if path.suffix in (".yaml", ".yml"):
        return _yaml(place, text), text
    raise errors.InvalidSettings(
        errors.InputProblem(place, "", f"ends in {path.suffix!r}, want .toml, .json or .yaml")
    )


def load(path: Path | None, over: Mapping[str, Any], under: Mapping[str, Any] = _NOTHING) -> schema.Settings:
    """Settings from a file (or none), with overrides and other defaults than ours;
    raises InvalidSettings with every problem."""
    if path is None:
        return schema.parse(cwii_flags.merged(under, over), "settings")
    data, text = read(path)
    if data is None:
        data = {}
    _check_text(str(path), data)
    try:
        schema.parse(data, str(path))
        return schema.parse(cwii_flags.merged(cwii_flags.merged(under, data), over), str(path))
    except errors.InvalidSettings as error:
        raise errors.InvalidSettings(*(_with_line(problem, text) for problem in error.problems)) from error


class WatchedSettings:
    """A settings file that may change; ``check`` is one look at it."""

    def __init__(
        self, path: Path | None, over: Mapping[str, Any], under: Mapping[str, Any] = _NOTHING
    ) -> None:
        self._path = path
        self._over = over
        self._under = under
        self._stamp = self._reload()
        self.settings = load(path, over, under)
        self.error = ""
        """Why the current file is not in force; empty when it is."""

    def check(self) -> bool:
        """Look once; True when new settings are in force. Never raises for what the file holds."""
        stamp = self._reload()
        if self._path is None or stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            settings = load(self._path, self._over, self._under)
        except errors.InvalidSettings as error:
            self.error = str(error)
            if isinstance(error.__cause__, OSError):
                self._stamp = None  # nothing is wrong with what it holds: read it again
            return False
        self.error = ""
        changed = settings != self.settings
        self.settings = settings
        return changed

    def _reload(self) -> tuple[int, int, int] | None:
        if self._path is None:
            return None
        try:
            seen = os.stat(self._path)  # noqa: PTH116 - follows the kubelet's links, as reading does
        except OSError:
            return None
        return seen.st_mtime_ns, seen.st_size, seen.st_ino


def _check_text(place: str, data: Any) -> None:
    """Refuse what JSON and YAML can write and is unusable: half a character, a value that holds itself."""
    try:
        json.dumps(data, ensure_ascii=False, default=str, skipkeys=True).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        problem = errors.InputProblem(place, "", f"holds {half!r}, which is no character, want text")
    except (ValueError, RecursionError):
        problem = errors.InputProblem(place, "", "holds itself, or is nested too deeply")
    else:
        return
    raise errors.InvalidSettings(problem)


def _toml(place: str, text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise errors.InvalidSettings(errors.InputProblem(place, "", f"is no TOML: {error}")) from error


def _json(place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise errors.InvalidSettings(
            errors.InputProblem(f"{place}:{error.lineno}", "", f"is no JSON: {error.msg}")
        ) from error
    except RecursionError:
        raise errors.InvalidSettings(errors.InputProblem(place, "", "is nested too deeply")) from None


def _yaml(place: str, text: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - only who uses YAML pays for it
    except ImportError:
        raise errors.MissingExtra("a YAML settings file", "offline") from None
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"{place}:{mark.line + 1}" if mark else place
        cause = getattr(error, "problem", None) or str(error)
        raise errors.InvalidSettings(errors.InputProblem(line, "", f"is no YAML: {cause}")) from error


def _with_line(problem: errors.InputProblem, text: str) -> errors.InputProblem:
    line = line_of(problem.field, text)
    return problem._replace(place=f"{problem.place}:{line}") if line else problem


def line_of(field: str, text: str) -> int:
    """The line of a field, found by its keys in order; 0 when it is absent.

    Good for TOML tables (``[gcp]``, ``gcp.delivery =``), JSON and YAML: each key must be on or
    after the line of the one before it.
    """
    lines = text.splitlines()
    at = 0
    found = 0
    for key in re.findall(r"[A-Za-z]\w*", re.sub(r"\[\d+\]", "", field)):
        form = re.compile(rf"""(?<![\w-])["']?{re.escape(key)}["']?\s*(?:[:=.\]]|$)""")
        hit = next((number for number in range(at, len(lines)) if form.search(_code(lines[number]))), None)
        if hit is None:
            return found
        at, found = hit, hit + 1
    return found


def _code(line: str) -> str:
    return "" if line.lstrip().startswith(("#", "//")) else line
