"""Memory that is free goes back to the machine: two settings of glibc's allocator, and a trim after floods.

uvloop takes a buffer of 256 KiB per TLS connection. By default glibc, once it has seen one freed, carves the
next ones out of its heap, where they are touched by others and never go back; with a fixed threshold each is
a mapping of its own, of which only the touched pages cost anything, and which ends with the connection.
Where the C library is another one (musl, macOS) nothing is done: musl gives large blocks back by itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

__all__ = ["give_back", "return_large_blocks"]

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 128 * 1024  # bytes; glibc's own first value, which setting it makes permanent
_KEPT: Final = 1024 * 1024  # bytes of free heap that are kept for the next requests


def _function(name: str) -> Callable[..., Any] | None:
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except (OSError, TypeError):  # no such library, or no dynamic linking at all
        return None


_mallopt: Final = _function("mallopt")
_malloc_trim: Final = _function("malloc_trim")


def return_large_blocks() -> bool:
    """Let every large block be a mapping of its own, for the whole process; False where that is unknown."""
    if _mallopt is None:
        return False
    return bool(_mallopt(_M_MMAP_THRESHOLD, _LARGE)) and bool(_mallopt(_M_TRIM_THRESHOLD, _KEPT))


def give_back() -> None:
    """Return the free pages in the middle of the heap; takes milliseconds, so not for every request."""
    if _malloc_trim is not None:
        _malloc_trim(_KEPT)
