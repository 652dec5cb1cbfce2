"""Memory that is free goes back to the machine: two functions of glibc, which keeps what it once had.

By default glibc, once it has seen a large block freed, carves the next ones out of its heap, where their
pages stay. With a fixed threshold each body of a large review is a mapping of its own, which ends with it;
smaller blocks leave free pages within the heap, which a trim returns. Where the C library is another one
(musl, macOS) nothing is done: musl returns large blocks by itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

__all__ = ["give_back", "return_large_blocks"]

_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 256 * 1024  # bytes; above what every request takes and frees again
_RETAINED: Final = 1024 * 1024  # bytes of free heap that are retained for the next requests


def _function(name: str) -> Callable[..., Any] | None:
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):  # no such library, or no dynamic linking at all
        return None


_mallopt: Final = _function("mallopt")
_malloc_trim: Final = _function("malloc_trim")


def return_large_blocks() -> None:
    """Let every large block be a mapping of its own, for the whole process."""
    if _mallopt is not None:
        _mallopt(_M_MMAP_THRESHOLD, _LARGE)


def give_back() -> None:
    """Return the free pages within the heap; takes milliseconds, so not for every request."""
    if _malloc_trim is not None:
        _malloc_trim(_RETAINED)
