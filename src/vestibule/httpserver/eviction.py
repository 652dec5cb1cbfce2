"""Which connections are closed when there is too little for all: connections, or bytes held for them.

The rule, for both: never one whose request is complete and not yet answered. First those that have never
sent a complete request and have had a second to do so, of the peers with the most of them; then those of a
peer that holds more than half of everything; then all others. Within each group the one that has waited
longest goes first: idle since its last request, or slow since its request began. So a flood of idle
connections closes itself, callers who share one address lose nothing as long as they use their connections,
and new connections are closed last.

Pure choice: nothing is closed here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, Protocol, TypeVar

__all__ = ["FRESH", "EvictionCandidate", "chosen"]

FRESH: Final = 1.0
"""Seconds in which a new connection is not yet blamed for having sent nothing."""


class EvictionCandidate(Protocol):
    """What is known of a connection."""

    @property
    def peer(self) -> str:
        """Who it comes from."""
        ...

    @property
    def proven(self) -> bool:
        """Whether it has sent a complete request."""
        ...

    def waiting_since(self) -> float | None:
        """When it began to make us wait; None when it must not be closed."""
        ...


C = TypeVar("C", bound=EvictionCandidate)


def chosen(
    candidates: Iterable[C], weight: Callable[[C], int], most: int, excess: int, now: float
) -> list[C]:
    """The connections to close, the first first, until they weigh ``excess``; fewer if there are no more.

    ``most`` is what all may weigh together. What weighs nothing is left alone.
    """
    waiting: list[tuple[C, int, float]] = []
    by_peer: Counter[str] = Counter()
    unproven: Counter[str] = Counter()
    for one in candidates:
        size = weight(one)
        if size <= 0:
            continue
        by_peer[one.peer] += size
        if not one.proven:
            unproven[one.peer] += size
        since = one.waiting_since()
        if since is not None:
            waiting.append((one, size, since))

    def order(item: tuple[C, int, float]) -> tuple[int, int, float]:
        one, _, since = item
        if not one.proven and since < now - FRESH:
            return 0, -unproven[one.peer], since
        return (1 if by_peer[one.peer] * 2 > most else 2), 0, since

    waiting.sort(key=order)
    found: list[C] = []
    for one, size, _ in waiting:
        if excess <= 0:
            break
        found.append(one)
        excess -= size
    return found
