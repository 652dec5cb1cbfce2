"""A target with a fault, to see that it is found; not among ``NAMES``."""

from __future__ import annotations

from typing import Final

from tests.fuzz import mutators

LONGEST: Final = 64
WORDS: Final = ("some", "word", "or", "other")


def mutate(data: bytes, longest: int, seed: int) -> bytes:
    """Put words in."""
    return mutators.flat(data, longest, seed, WORDS)


def check(data: bytes) -> None:
    """Fail for one of them behind another."""
    if b"word" in data and b"other" in data:
        raise AssertionError("the word is there")
