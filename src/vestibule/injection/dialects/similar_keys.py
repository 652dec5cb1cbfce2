"""Unknown keys under a dialect's prefix, and the ones that were probably meant."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Collection
from typing import Final

from vestibule.injection.precedence import PrecedenceLevels


def report_unknown(
    found: PrecedenceLevels,
    prefix: str,
    names: Collection[str],
    with_suffix: Collection[str] = (),
    *,
    shared: bool = False,
) -> None:
    """Report every key of the prefix whose name is none of these; some may be followed by a container name.
    ``shared``: others have keys under the prefix, too, so only keys similar to ours are reported."""
    for level, key, value in found.items():
        if found.enough_unknown:
            return
        name = key.removeprefix(prefix)
        if name == key or name in names or name.partition(".")[0] in with_suffix:
            continue
        nearest = functools.partial(_nearest, prefix, name, names)
        found.unknown_key(level, key, value, nearest, hinted_only=shared)


def _nearest(prefix: str, name: str, names: Collection[str]) -> str:
    if len(name) > _LONGEST:
        return ""
    meant = difflib.get_close_matches(name.lower().replace("_", "-"), names, n=1, cutoff=0.7)
    return prefix + meant[0] if meant else ""


_LONGEST: Final = 80
"""Characters of a name that may be a misspelt one; comparing longer ones costs more than a hint is worth."""
