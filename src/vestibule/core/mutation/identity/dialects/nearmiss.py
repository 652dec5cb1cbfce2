"""Keys under a vocabulary's prefix that mean nothing there, and the ones that were probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from vestibule.core.mutation.identity.levels import Levels, Note


def tell(
    found: Levels,
    prefix: str,
    names: Collection[str],
    with_suffix: Collection[str] = (),
    *,
    shared: bool = False,
) -> None:
    """Tell every key of the prefix whose name is none of these; behind some a container may be named.
    ``shared``: others have keys under the prefix, too, so only what looks like one of ours is told."""
    for level, key, value in found.items():
        name = key.removeprefix(prefix)
        if name == key or name in names or name.partition(".")[0] in with_suffix:
            continue
        meant = difflib.get_close_matches(name.lower().replace("_", "-"), names, n=1, cutoff=0.7)
        if shared and not meant:
            continue
        tail = f"; did you mean {prefix}{meant[0]}?" if meant else ""
        found.notes.append(Note(f"no known key, ignored{tail}", level, key, value))
