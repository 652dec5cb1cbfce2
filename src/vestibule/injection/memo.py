"""A cache in memory, bounded in bytes and not in entries, since a tenant chooses their size."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class ByteMemo(Generic[Value]):
    """Results by key; the oldest is evicted first."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._entries: dict[Hashable, tuple[Value, int]] = {}
        self.bytes = 0
        """Estimated size of all entries, in bytes."""

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Value | None:
        """The result, if it is cached."""
        found = self._entries.get(key)
        return None if found is None else found[0]

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Cache a result of about this many bytes; one larger than the limit is not cached."""
        if size <= self._budget:
            self._entries[key] = (value, size)
            self.grow(size)

    def grow(self, size: int) -> None:
        """A cached result became larger; the growth counts until every present entry is evicted."""
        self.bytes += size
        while self.bytes > self._budget and self._entries:
            _, freed = self._entries.pop(next(iter(self._entries)))
            self.bytes -= freed
        if not self._entries:
            self.bytes = 0
