"""What can go wrong between two parts, and when: faults, rules, and the script that picks one per call.

A script is seeded: each rule draws from a generator of its own, so the same calls in the same order meet the
same faults. The first rule that fits and draws decides; a call that no rule wants passes untouched.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Delay:
    """Waits, before the call is passed on or, with ``after``, before its answer is.

    On a connection of bytes every piece is late, in both directions.
    """

    seconds: float
    after: bool = False


@dataclass(frozen=True)
class Cut:
    """Resets the connection instead of passing the call on or, with ``after``, instead of its answer."""

    after: bool = False


@dataclass(frozen=True)
class Truncate:
    """Closes the connection after so many bytes of the answer's body."""

    size: int


@dataclass(frozen=True)
class Status:
    """Answers by itself; the server never sees the call."""

    code: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stale:
    """Answers a GET as the server last answered it through this proxy; passes what it has not seen."""


Fault = Delay | Cut | Truncate | Status | Stale


@dataclass
class Rule:
    """A fault, the calls that it concerns, and how often it struck."""

    fault: Fault
    method: str | None
    path: re.Pattern[str]
    times: int | None
    chance: float
    draws: random.Random
    hits: int = 0

    def strikes(self, method: str, path: str) -> bool:
        if self.method not in (None, method) or not self.path.search(path):
            return False
        if self.times is not None and self.hits >= self.times:
            return False
        if self.chance < 1 and self.draws.random() >= self.chance:
            return False
        self.hits += 1
        return True


class Script:
    """The rules of one proxy; tests write it, the proxy's thread reads it."""

    def __init__(self, seed: int) -> None:
        self._seed, self._made = seed, 0
        self._rules: list[Rule] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault, method: str | None, path: str, times: int | None, chance: float) -> Rule:
        with self._lock:
            # not for keys; a tuple as seed would depend on the interpreter's hash
            draws = random.Random(self._seed * 1_000_003 + self._made)  # noqa: S311
            rule = Rule(fault, method, re.compile(path), times, chance, draws)
            self._rules.append(rule)
            self._made += 1
            return rule

    def remove(self, rule: Rule) -> None:
        with self._lock:
            self._rules = [stored for stored in self._rules if stored is not rule]

    def clear(self) -> None:
        with self._lock:
            self._rules = []

    def pick(self, method: str, path: str) -> Fault | None:
        with self._lock:
            return next((rule.fault for rule in self._rules if rule.strikes(method, path)), None)
