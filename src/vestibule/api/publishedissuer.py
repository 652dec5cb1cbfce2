"""``PublishedIssuer``: one object says where the cluster's issuer is published, and the operator keeps it.

Clouds read two documents at the issuer's address: which one it is, and its keys. What they trust is never
removed with the object. Fields that we do not know are left to their owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from vestibule import errors, gostrconv

KIND: Final = "PublishedIssuer"


class PublishedIssuerSpec(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``spec``."""

    to: str
    """Where: ``dir:PATH``, ``azblob:ACCOUNT/CONTAINER[/PREFIX]``, ``s3://BUCKET[/PREFIX]`` or
    ``gs://BUCKET[/PREFIX]``; the operator's own login must be allowed to read and write there."""
    issuer: str = ""
    """Expected issuer; empty: the cluster's. Another one is refused and reported."""
    shape: Literal["azure", "aws", "gcp"] = "azure"
    """Where the keys are below the issuer: ``openid/v1/jwks`` for ``azure``, else ``keys.json``."""
    retention: str = "25h"
    """How long a key stays published after the cluster stopped to show it: the longest life of a token, and
    an hour. At least ``10m``."""
    verify: Literal["Auto", "Always", "Never"] = "Auto"
    """Whether the public address is read as a cloud does it; ``Auto``: but for a directory."""
    interval: str = "5m"
    """Time between two checks, at least 1s."""
    paused: bool = False
    """Leave what is published as it is."""


def parse(obj: Mapping[str, Any]) -> PublishedIssuerSpec:
    """The spec of an object; raises InvalidInput with every problem."""
    place = f"{KIND} {(obj.get('metadata') or {}).get('name', '')}"
    try:
        found = msgspec.convert(obj.get("spec") or {}, PublishedIssuerSpec)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `")
        field = f"spec{path.rstrip('`').removeprefix('$')}"
        raise errors.InvalidInput(errors.InputProblem(place, field, problem)) from error
    problems = [
        errors.InputProblem(place, f"spec.{field}", f"is {value!r}, want a duration of at least {least}")
        for field, value, least in (("retention", found.retention, "10m"), ("interval", found.interval, "1s"))
        if (gostrconv.duration(value) or 0.0) < (gostrconv.duration(least) or 0.0)
    ]
    if problems:
        raise errors.InvalidInput(*problems)
    return found


def seconds(duration: str) -> float:
    """Of a duration that ``parse`` has seen."""
    return gostrconv.duration(duration) or 0.0
