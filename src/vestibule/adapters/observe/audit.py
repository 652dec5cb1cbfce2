"""One line for every verdict, written off the hot path by a thread of its own.

The request thread encodes the line while its names are at hand and keeps nothing else of the request alive;
the slow part, the write, is the other thread's. What waits is bounded: when the reader of our output stalls,
lines are dropped and counted rather than requests delayed. A line holds names, outcomes and findings, which
quote annotations; never an environment value, a body or a patch.
"""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from typing import Final

import msgspec

from vestibule.core.admission.review import Review
from vestibule.core.admission.verdict import Verdict

_WAITING: Final = 4 << 20
"""Bytes that may wait; about two seconds at full load."""
_PAUSE: Final = 0.1
"""Seconds between two looks of the writer."""


class Line(msgspec.Struct, omit_defaults=True, gc=False):
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


class Audit:
    """Takes verdicts, writes lines."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting = bytearray()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self.dropped = 0
        """Lines that found no room."""

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def note(self, review: Review, verdict: Verdict, seconds: float) -> None:
        """Remember one verdict; quick, and never waits for who reads."""
        request = review.request
        pod = request.object
        line = Line(
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
            if len(waiting) >= _WAITING:
                self.dropped += 1
                return
            _encode_into(line, waiting, -1)
            waiting += b"\n"

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
        with self._lock:
            lines, self._waiting = self._waiting, bytearray()
        try:
            with memoryview(lines) as left:
                written = 0
                while written < len(left):
                    written += os.write(self._descriptor, left[written : written + _PIECE])
        except OSError:
            # nobody reads any more; verdicts matter more than their record
            return False
        return True


_PIECE: Final = 1 << 16
"""Bytes of one write."""
_encode_into = msgspec.json.Encoder().encode_into
_now = datetime.now
