"""One line for every verdict, written off the hot path by a thread of its own.

The request thread only appends a small record. Lines are bounded in number: when the reader of our output
stalls, lines are dropped and counted rather than requests delayed. A line holds names, outcomes and
findings, which quote annotations; never an environment value, a body or a patch.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import deque
from typing import Final

import msgspec

from vestibule.core.admission.review import Review
from vestibule.core.admission.verdict import Finding, Verdict

_WAITING: Final = 20_000
"""Lines that may wait; two seconds at full load."""
_PAUSE: Final = 0.1
"""Seconds between two looks of the writer."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a verdict until it is written: names and outcomes, no body and no patch."""

    moment: float
    uid: str
    namespace: str
    pod: str
    dry_run: bool
    outcome: str
    providers: tuple[str, ...]
    reason: str
    findings: tuple[Finding, ...]
    seconds: float


class Line(msgspec.Struct, omit_defaults=True):
    """What one verdict leaves behind."""

    time: str
    audit: str
    uid: str
    namespace: str
    pod: str
    micros: int
    providers: tuple[str, ...] = ()
    reason: str = ""
    dry_run: bool = False
    findings: list[str] = []


class Audit:
    """Takes verdicts, writes lines."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._entries: deque[Entry] = deque()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self.dropped = 0
        """Lines that found no room."""

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def note(self, review: Review, verdict: Verdict, seconds: float) -> None:
        """Remember one verdict; quick, and never waits."""
        if len(self._entries) >= _WAITING:
            self.dropped += 1
            return
        request = review.request
        pod = request.object
        self._entries.append(
            Entry(
                time.time(),
                request.uid,
                request.namespace or "",
                (pod.metadata.name or pod.metadata.generate_name or "") if pod is not None else "",
                request.dry_run,
                verdict.outcome,
                verdict.providers,
                verdict.reason,
                verdict.findings,
                seconds,
            )
        )

    def close(self, seconds: float = 2.0) -> None:
        """Write what waits, then stop; gives up after the time."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stop.wait(_PAUSE):
            if not self._flush():
                return
        self._flush()

    def _flush(self) -> bool:
        entries = self._entries
        while entries:
            lines = [line(entries.popleft()) for _ in range(min(len(entries), 256))]
            data = b"".join(lines)
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                # nobody reads any more; verdicts matter more than their record
                return False
        return True


_encode = msgspec.json.Encoder().encode


@functools.lru_cache(4)
def _second(second: int) -> str:
    """A second as text; lines come in thousands of the same one."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def line(entry: Entry) -> bytes:
    """The line for one verdict."""
    second, rest = divmod(entry.moment, 1)
    written = Line(
        f"{_second(int(second))}.{int(rest * 1000):03d}Z",
        entry.outcome,
        entry.uid,
        entry.namespace,
        entry.pod,
        round(entry.seconds * 1e6),
        entry.providers,
        entry.reason,
        entry.dry_run,
        [finding.text for finding in entry.findings] if entry.findings else [],
    )
    return _encode(written) + b"\n"
