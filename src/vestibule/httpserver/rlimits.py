"""How many files and sockets this process may have open."""

from __future__ import annotations

import contextlib
import resource


def allow_many() -> int:
    """As many as the machine lets us, since every connection is a socket; how many that is.
    Shells and containers often begin with 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return hard
    return soft
