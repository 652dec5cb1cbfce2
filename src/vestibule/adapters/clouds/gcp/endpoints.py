"""Where the services of Google Cloud are: as the universe says, or as a file does (Private Service Connect, a
double)."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from vestibule.errors import InvalidInput, Problem

UNIVERSE: Final = "googleapis.com"
"""The usual one."""


class Endpoints(NamedTuple):
    """Addresses without a path."""

    iam: str
    projects: str
    storage: str


class _File(msgspec.Struct, forbid_unknown_fields=True):
    iam: str = ""
    projects: str = ""
    storage: str = ""


def endpoints(universe: str = UNIVERSE) -> Endpoints:
    """Those of a universe; the usual one when it is empty."""
    domain = universe or UNIVERSE
    return Endpoints(
        f"https://iam.{domain}", f"https://cloudresourcemanager.{domain}", f"https://storage.{domain}"
    )


def from_file(path: Path, universe: str = UNIVERSE) -> Endpoints:
    """Those of a JSON file; what it leaves out is as the universe says. Raises InvalidInput."""
    place = f"--endpoints {path}"
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise InvalidInput(Problem(place, "", f"cannot be read ({error.strerror}), want a file")) from error
    except msgspec.MsgspecError as error:
        want = 'want a JSON object as {"iam": URL, "projects": URL, "storage": URL}'
        raise InvalidInput(Problem(place, "", f"{error}, {want}")) from error
    problems = []
    chosen = endpoints(universe)
    for name in _File.__struct_fields__:
        text = str(getattr(found, name))
        if text and (urlsplit(text).scheme not in ("http", "https") or not urlsplit(text).hostname):
            problems.append(Problem(place, name, f"is {text!r}, want an address as https://host"))
        elif text:
            chosen = chosen._replace(**{name: text.rstrip("/")})
    if problems:
        raise InvalidInput(*problems)
    return chosen
