"""Trimming, lower-casing and number parsing to the character of the programs we match; Python's own are
more generous."""

from __future__ import annotations

import re
from typing import Final

# Unicode White_Space; str.strip() would also remove U+001C to U+001F
_WHITE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
_ASCII_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_INT: Final = re.compile(r"[+-]?[0-9]+")


def trim(text: str) -> str:
    """Without Unicode white space at both ends."""
    return text.strip(_WHITE)


def ascii_lower(text: str) -> str:
    """Lower case, ASCII letters only."""
    return text.translate(_ASCII_LOWER)


def integer(text: str) -> int | None:
    """A signed 64-bit decimal; None when the text is none (``1_000`` and other scripts' digits are none)."""
    if len(text) > 40 or _INT.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
