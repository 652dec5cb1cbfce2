"""``scripts/vectors FAMILY FILE.json…``: one line per failure, and last ``N passed, M failed``."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.vectors import formats

HERE = Path(__file__).parent
FAMILIES = ("cwii", "azwi", "aws_gcp", "osc", "ccoctl", "hypershift", "aro")


_FILE = {"cases", "vectors", "constants", "about", "schema", "source", "reading", "upstream_api_versions"}
"""Keys of a file that holds its vectors in an object; the last five are for readers."""


def departures(family: str) -> dict[str, str]:
    """Names of vectors we depart from, with the reason."""
    listed = yaml.safe_load((HERE / "departures.yaml").read_text()) or {}
    return dict(listed.get(family) or {})


def format_of(family: str, vector: dict[str, Any]) -> formats.Format:
    """The keys that a vector of this shape may have."""
    found: formats.Format = importlib.import_module(f"tests.vectors.{family}").format_of(vector)
    return found


def unknown_keys(family: str, vector: dict[str, Any]) -> list[str]:
    """Keys that the runner does not know; no departure excuses them."""
    return list(formats.unknown(vector, format_of(family, vector)))


def problems(family: str, vector: dict[str, Any]) -> list[str]:
    """What is wrong with one vector; an exception is a failure like any other."""
    if strange := unknown_keys(family, vector):
        return strange
    module = importlib.import_module(f"tests.vectors.{family}")
    try:
        found: list[str] = module.check(vector)
    except Exception as error:  # noqa: BLE001 - a vector that crashes us must not hide the others
        place = traceback.extract_tb(error.__traceback__)[-1]
        return [f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}"]
    return found


def load(path: Path) -> list[dict[str, Any]]:
    """The vectors of a file: a list, or an object that holds one under ``cases`` or ``vectors``."""
    data = json.loads(path.read_text())
    constants: dict[str, str] = {}
    if isinstance(data, dict):
        if strange := sorted(set(data) - _FILE):
            raise SystemExit(f"{path}: the runner does not know {', '.join(strange)}")
        constants = data.get("constants") or {}
        data = data.get("cases", data.get("vectors"))
    if not isinstance(data, list):
        raise SystemExit(f"{path}: want a list of vectors")
    for vector in data:
        vector.setdefault("name", vector.get("id"))
        if constants:
            vector.setdefault("constants", constants)
    return data


def main(arguments: Sequence[str]) -> int:
    """Run the files; 0 when everything passed."""
    if len(arguments) < 2 or arguments[0] not in FAMILIES:
        print(f"usage: scripts/vectors FAMILY FILE.json...   families: {', '.join(FAMILIES)}")
        return 2
    family, *files = arguments
    known = departures(family)
    passed = failed = 0
    for file in files:
        for vector in load(Path(file)):
            name = vector["name"]
            found = problems(family, vector)
            if name in known and not found:
                found = [f"listed as a departure ({known[name]}) but passes"]
            elif name in known and not unknown_keys(family, vector):
                found = []
            passed, failed = (passed, failed + 1) if found else (passed + 1, failed)
            if found:
                print(f"FAIL {family} {name}: {'; '.join(text[:400] for text in found)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
