"""One line for every verdict, written off the hot path by a thread of its own.

The request thread encodes the line while its names are at hand and keeps nothing else of the request alive;
the slow part, the write, is the other thread's. What waits is bounded: when the reader of standard output
blocks, or a write fails (a full disk, a closed pipe), lines are dropped and counted rather than requests
delayed. The thread tries again for ever, from the byte where it stopped, so that no line is cut; the log has
a line when it begins to fail or to drop, and when it is over. A line holds names, outcomes and findings,
which quote annotations; never an environment value, a body or a patch.
"""

from __future__ import annotations

import logging
import os
import threading
from datetime import UTC, datetime
from typing import Final

import msgspec

from vestibule.admission.review import DecodedReview
from vestibule.admission.verdict import Verdict

logger = logging.getLogger(__name__)

_WAITING: Final = 4 << 20
"""Bytes that may wait; about two seconds at full load."""
_PAUSE: Final = 0.1
"""Seconds between two polls of the writer."""
_LONGEST_PAUSE: Final = 10.0
"""The same when writes fail; it doubles with each failure."""


class AuditLine(msgspec.Struct, omit_defaults=True, gc=False):
    """What one verdict leaves behind."""

    time: datetime
    audit: str
    uid: str
    namespace: str
    pod: str
    micros: int
    providers: tuple[str, ...] = ()
    reason: str = ""
    dry_run: bool = False
    findings: tuple[str, ...] = ()


class AuditLog:
    """Takes verdicts, writes lines."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting = bytearray()
        self._taken = bytearray()
        """What is being written, from its first byte that is not; only the writer changes it."""
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._dropping = False
        self.failing = False
        """Whether the last write failed."""
        self.failures = 0
        """Writes that failed."""
        self.dropped = 0
        """Lines dropped because the buffer was full, or left at the end."""

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def note(self, review: DecodedReview, verdict: Verdict, seconds: float) -> None:
        """Remember one verdict; quick, and never waits for who reads."""
        request = review.request
        pod = request.object
        line = AuditLine(
            _now(UTC),
            verdict.outcome,
            request.uid,
            request.namespace or "",
            (pod.metadata.name or pod.metadata.generate_name or "") if pod is not None else "",
            round(seconds * 1e6),
            verdict.providers,
            verdict.reason,
            request.dry_run,
            tuple(finding.text for finding in verdict.findings) if verdict.findings else (),
        )
        with self._lock:
            waiting = self._waiting
            size = len(waiting) + len(self._taken)
            full = size >= _WAITING
            if full:
                self.dropped += 1
            else:
                _encode_into(line, waiting, -1)
                waiting += b"\n"
        if full is not self._dropping and (full or size < _WAITING // 2):
            self._log(full)

    def close(self, seconds: float = 2.0) -> None:
        """Write what waits, then stop; gives up after the time, and counts what is left."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(seconds)
        with self._lock:
            left = self._taken.count(b"\n") + self._waiting.count(b"\n")
        if left:
            self.dropped += left
            logger.warning("audit lines lost at the end", extra={"lines": left})

    def _run(self) -> None:
        pause = _PAUSE
        while not self._stop.wait(pause):
            pause = _PAUSE if self._flush() else min(2 * pause, _LONGEST_PAUSE)
        self._flush()

    def _flush(self) -> bool:
        """Write what waits; False when that failed."""
        with self._lock:
            if self._taken:
                self._taken += self._waiting
            else:
                self._taken = self._waiting
            self._waiting = bytearray()
        taken, written = self._taken, 0
        problem = ""
        try:
            with memoryview(taken) as left:
                while written < len(left):
                    written += os.write(self._descriptor, left[written : written + _PIECE])
        except OSError as error:
            problem = error.strerror or type(error).__name__
        with self._lock:
            del taken[:written]
        if problem:
            self.failures += 1
            if not self.failing:
                logger.error("audit lines cannot be written, trying again", extra={"error": problem})
        elif self.failing:
            logger.info("audit lines are written again", extra={"dropped": self.dropped})
        self.failing = bool(problem)
        return not problem

    def _log(self, dropping: bool) -> None:
        """Log that dropping begins or ends."""
        self._dropping = dropping
        if dropping:
            logger.error("audit lines are dropped, too many wait to be written", extra={"bytes": _WAITING})
        else:
            logger.info("audit lines are no longer dropped", extra={"dropped": self.dropped})


_PIECE: Final = 1 << 16
"""Bytes of one write."""
_encode_into = msgspec.json.Encoder().encode_into
_now = datetime.now
