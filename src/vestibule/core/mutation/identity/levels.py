"""Reads keys over the levels of precedence, key by key: the first level that says something usable wins.

Remembers for every key where its value came from and what it shadowed, and notes every value that was
passed over. Trimming, lower-casing and number parsing follow the original to the character; Python's own
are more generous.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from vestibule.core.admission.verdict import Origin
from vestibule.core.kinds.text import ascii_lower, integer, trim
from vestibule.core.mutation.facts import Annotations


class Check(NamedTuple):
    """What a value must look like."""

    fits: Callable[[str], bool]
    want: str
    passed_over: bool = False
    """True: a value that does not fit is passed over. False: it is used all the same, since our idea of a
    valid identity may be older than the cloud's."""


class Note(NamedTuple):
    """Something to tell the user, before the object at the level is named."""

    text: str
    level: int = -1
    key: str = ""
    value: str = ""
    want: str = ""
    blocking: bool = False
    """The identity cannot work this way: refused in ``required`` mode."""
    provider: str = ""


class Levels:
    """The annotations of all levels, strongest first, and what was learnt by reading them."""

    def __init__(
        self,
        levels: Sequence[Annotations],
        *,
        checked: bool,
        before: Sequence[Annotations] = (),
        behind: Sequence[Annotations] = (),
    ) -> None:
        """``before`` beats all levels and ``behind`` is beaten by all; they are counted after the others."""
        own = list(enumerate(levels))
        first = list(enumerate(before, len(levels)))
        last = list(enumerate(behind, len(levels) + len(before)))
        self._levels = [(index, annotations) for index, annotations in (*first, *own, *last) if annotations]
        self._checked = checked
        self.last = len(levels) - 1
        """Index of the weakest level, the namespace."""
        self.notes: list[Note] = []
        self.origins: list[Origin] = []

    def flag(self, key: str) -> bool | None:
        """A boolean: ``true`` or ``false`` in any case; anything else is passed over."""
        for index, value in self._values(key):
            folded = ascii_lower(trim(value))
            if folded in ("true", "false"):
                self._found(key, folded, index)
                return folded == "true"
            self._note(index, key, value, "'true' or 'false'", "passed over")
        return None

    def text(self, key: str, check: Check | None = None, *, provider: str = "") -> str | None:
        """The first value that is not blank, trimmed."""
        for index, raw in self._values(key):
            value = trim(raw)
            if not value:
                continue
            if check is not None and self._checked and not check.fits(value):
                if check.passed_over:
                    self._note(index, key, value, check.want, "passed over")
                    continue
                self._note(
                    index, key, value, check.want, "used all the same", blocking=True, provider=provider
                )
            self._found(key, value, index)
            return value
        return None

    def where(self, key: str) -> int:
        """The strongest level at which the key holds something other than blanks; -1 for none."""
        return next((index for index, value in self._values(key) if trim(value)), -1)

    def at(self, key: str, level: int) -> str | None:
        """The value at one level as it stands there; None when the key is absent."""
        return next((value for index, value in self._values(key) if index == level), None)

    def peek(self, key: str, level: int) -> str:
        """The value at one level, without remembering that it was asked for."""
        return next((value for index, value in self._values(key) if index == level), "")

    def number(self, key: str, default: int, lowest: int, highest: int | None) -> int:
        """An integer, raised to the lowest allowed.

        Unchecked (as the original): the first text decides, and what is no number means the default.
        Checked: what is no number is passed over, and what is too high is cut.
        """
        for index, raw in self._values(key):
            value = trim(raw)
            if not value:
                continue
            number = integer(value)
            if number is None:
                if not self._checked:
                    break
                self._note(index, key, value, "a whole number of seconds", "passed over")
                continue
            if self._checked and highest is not None and not lowest <= number <= highest:
                used = min(max(number, lowest), highest)
                self._note(index, key, value, f"{lowest} to {highest} seconds", f"{used} used")
                number = used
            self._found(key, value, index)
            return max(number, lowest)
        return max(default, lowest)

    def default(self, key: str, value: str) -> None:
        """Remember that the settings gave this value."""
        self.origins.append(Origin(key, value, -1))

    def items(self) -> list[tuple[int, str, str]]:
        """Level, key and value of everything that stands anywhere."""
        return [
            (index, key, value) for index, annotations in self._levels for key, value in annotations.items()
        ]

    def suffixes(self, key: str) -> list[str]:
        """What stands behind the key and a dot at any level, in order; nothing where an original is
        matched."""
        if not self._checked:
            return []
        begin = f"{key}."
        return sorted({found.removeprefix(begin) for _, found, _ in self.items() if found.startswith(begin)})

    def _values(self, key: str) -> list[tuple[int, str]]:
        return [
            (index, value)
            for index, annotations in self._levels
            if (value := annotations.get(key)) is not None
        ]

    def _found(self, key: str, value: str, level: int) -> None:
        values = self._values(key)
        position = [index for index, _ in values].index(level)
        shadowed = tuple(values[position + 1 :])
        origin = Origin(key, value, level, shadowed)
        if origin not in self.origins:  # a key that every cloud reads is shown once
            self.origins.append(origin)

    def _note(
        self,
        level: int,
        key: str,
        value: str,
        want: str,
        then: str,
        *,
        blocking: bool = False,
        provider: str = "",
    ) -> None:
        if self._checked:
            self.notes.append(Note(then, level, key, value, want, blocking, provider))
