"""Results that are kept in memory, bounded in bytes and not in number, since a tenant chooses their size."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class ByteMemo(Generic[Value]):
    """What was worked out, by what it follows from; the oldest goes first when there is no room."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._kept: dict[Hashable, tuple[Value, int]] = {}
        self.bytes = 0
        """Estimated size of all that is kept."""

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> Value | None:
        """The result, if it is kept."""
        found = self._kept.get(key)
        return None if found is None else found[0]

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Keep a result that takes about this many bytes; one that is larger than the room is not kept."""
        if size <= self._budget:
            self._kept[key] = (value, size)
            self.grow(size)

    def grow(self, size: int) -> None:
        """Something that is kept became larger; it counts until everything that is kept now is gone."""
        self.bytes += size
        while self.bytes > self._budget and self._kept:
            _, freed = self._kept.pop(next(iter(self._kept)))
            self.bytes -= freed
        if not self._kept:
            self.bytes = 0
