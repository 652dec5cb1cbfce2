"""Which core the server gets, which the loader, and how a child process is put there.

A child inherits the affinity of its parent, so `pinned` changes ours around the start of the child: no
code runs between fork and exec, and a Go child sees one core from its first instruction (GOMAXPROCS 1).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cores:
    """The split of this machine: two different cores, or none when there is only one."""

    server: int | None
    loader: int | None

    @property
    def told(self) -> str:
        if self.server is None:
            return "unpinned: fewer than two cores, so loader and server share one; read the ratios only"
        return f"server on core {self.server}, loader on core {self.loader}"


def usable() -> list[int]:
    """The cores this process may use, in order; one made-up core where the system cannot tell."""
    return sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else [0]


def split() -> Cores:
    cores = usable()
    if len(cores) < 2:
        return Cores(server=None, loader=None)
    return Cores(server=cores[1], loader=cores[0])


@contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Runs its block, and starts its children, on `core`; does nothing for None."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
