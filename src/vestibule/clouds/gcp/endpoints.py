"""Where the services of Google Cloud are: as the universe says, or as a file does (Private Service Connect, a
double)."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from vestibule.errors import InputProblem, InvalidInput

UNIVERSE: Final = "googleapis.com"
"""The usual one."""


class GcpEndpoints(NamedTuple):
    """Addresses without a path."""

    iam: str
    projects: str
    storage: str


class _EndpointsFile(msgspec.Struct, forbid_unknown_fields=True):
    iam: str = ""
    projects: str = ""
    storage: str = ""


def endpoints(universe: str = UNIVERSE) -> GcpEndpoints:
    """Those of a universe; the usual one when it is empty."""
    domain = universe or UNIVERSE
    return GcpEndpoints(
        f"https://iam.{domain}", f"https://cloudresourcemanager.{domain}", f"https://storage.{domain}"
    )


def from_file(path: Path, universe: str = UNIVERSE) -> GcpEndpoints:
    """Those of a JSON file; what it leaves out is as the universe says. Raises InvalidInput."""
    place = f"--endpoints {path}"
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_EndpointsFile)
    except OSError as error:
        raise InvalidInput(
            InputProblem(place, "", f"cannot be read ({error.strerror}), want a file")
        ) from error
    except msgspec.MsgspecError as error:
        want = 'want a JSON object as {"iam": URL, "projects": URL, "storage": URL}'
        raise InvalidInput(InputProblem(place, "", f"{error}, {want}")) from error
    problems = []
    chosen = endpoints(universe)
    for name in _EndpointsFile.__struct_fields__:
        text = str(getattr(found, name))
        if text and (urlsplit(text).scheme not in ("http", "https") or not urlsplit(text).hostname):
            problems.append(InputProblem(place, name, f"is {text!r}, want an address as https://host"))
        elif text:
            chosen = chosen._replace(**{name: text.rstrip("/")})
    if problems:
        raise InvalidInput(*problems)
    return chosen
