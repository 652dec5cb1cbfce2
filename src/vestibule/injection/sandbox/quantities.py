"""Amounts of CPU and memory, exactly: sums are made before anything is rounded."""

from __future__ import annotations

import functools
import re
from fractions import Fraction
from typing import Final

_FORM: Final = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d{1,3})|([a-zA-Z]{0,2}))", re.ASCII)
_SUFFIXES: Final[dict[str, int | Fraction]] = {
    "": 1, "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "k": 10**3, "M": 10**6,
    "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
    "Pi": 2**50, "Ei": 2**60,
}  # fmt: skip


def amount(text: str) -> Fraction | None:
    """A quantity as Kubernetes writes it; None when it is none."""
    return _amount(text) if len(text) <= LONGEST else None


LONGEST: Final = 64
"""Characters of a quantity; the API server writes far fewer, and cache keys must be short."""


@functools.lru_cache(1024)
def _amount(text: str) -> Fraction | None:
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    number = Fraction(match[1])
    if match[2]:
        return number * Fraction(10) ** int(match[2][1:])
    scale = _SUFFIXES.get(match[3] or "")
    return None if scale is None else number * scale


def ceiling(number: Fraction) -> int:
    """The next whole number."""
    return -(-number.numerator // number.denominator)
