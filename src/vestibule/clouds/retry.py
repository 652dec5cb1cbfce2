"""One retry policy for transient errors: a new object is not known to all parts of a cloud at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Final, TypeVar

from vestibule import errors

T = TypeVar("T")
ATTEMPTS: Final = 24
DELAY: Final = 10.0
"""Seconds between two attempts: four minutes in total, as in ccoctl."""


def patiently(
    call: Callable[[], T],
    *,
    passing: Collection[str],
    attempts: int = ATTEMPTS,
    delay: float = DELAY,
    pause: Callable[[float], None] = time.sleep,
) -> T:
    """The call, again and again while it fails with a code that passes. The last failure is raised."""
    for attempt in range(1, attempts + 1):
        try:
            return call()
        except errors.VestibuleError as error:
            if getattr(error, "code", None) not in passing or attempt == attempts:
                raise
            pause(delay)
    raise AssertionError("attempts is at least 1")
