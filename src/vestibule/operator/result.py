"""How a look at one key ends. Outcomes are values; exceptions are surprises."""

from __future__ import annotations

from typing import NamedTuple


class Reconciled(NamedTuple):
    """All is as wanted; the key is looked at again at the next change, or after a while."""

    forget: bool = False
    """There is nothing behind the key any more."""


class RequeueAfter(NamedTuple):
    """Something is under way: look again after these seconds, or at the next change."""

    after: float
    reason: str


class Terminal(NamedTuple):
    """A human must act; looked at again at the next change, or after a while."""

    reason: str
    message: str


Result = Reconciled | RequeueAfter | Terminal
