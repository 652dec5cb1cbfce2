"""What a soak run has counted so far; it is kept in a file, so that a run can be interrupted and resumed."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, Final

from tests.soak import counted, losses

COUNTS: Final = ("admissions", "wrong", "fail_open")
"""Wrong: another identity than the account's. Fail open: created without any, although ``Fail`` is set."""
FORMAT: Final = 2
"""Of the file. Files without it put losses down to faults by time alone."""
EXAMPLES: Final = 3
"""Messages that are kept of losses of one kind and cause, and ``LENGTH`` characters of each."""
LENGTH: Final = 300


class Tally:
    """Counts, by what happened; lost admissions by what the error said and the fault that explains it."""

    def __init__(self, path: Path | None) -> None:
        """Raises ValueError for a file of another format."""
        self._path = path
        self._lock = threading.Lock()
        found: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}
        if found and found.get("format") != FORMAT:
            raise ValueError(f"{path} was written by another version of the soak; begin with a new file")
        self.counts: dict[str, int] = {name: found.get(name, 0) for name in COUNTS}
        self.seconds: float = found.get("seconds", 0.0)
        self.faults: dict[str, int] = found.get("faults", {})
        self.lost: dict[str, dict[str, int]] = found.get("lost", {})
        """By kind, then by cause; see losses."""
        self.words: dict[str, list[str]] = found.get("words", {})
        self.counted: dict[str, int] = found.get("counted", {})
        """By the API server; see counted."""

    def add(self, name: str) -> None:
        with self._lock:
            self.counts[name] += 1

    def lose(self, kind: str, cause: str, words: str) -> None:
        """An admission that was not answered with a pod."""
        with self._lock:
            causes = self.lost.setdefault(kind, {})
            causes[cause] = causes.get(cause, 0) + 1
            examples = self.words.setdefault(f"{kind}; {cause}", [])
            if len(examples) < EXAMPLES and words[:LENGTH] not in examples:
                examples.append(words[:LENGTH])

    def count(self, new: dict[str, int]) -> None:
        """What the API server has counted since it was last asked."""
        with self._lock:
            for name, number in new.items():
                self.counted[name] = self.counted.get(name, 0) + number

    def fault(self, name: str) -> None:
        with self._lock:
            self.faults[name] = self.faults.get(name, 0) + 1

    def save(self) -> None:
        if self._path is None:
            return
        with self._lock:
            data = {
                "format": FORMAT,
                **self.counts,
                "seconds": self.seconds,
                "faults": self.faults,
                "lost": self.lost,
                "words": self.words,
                "counted": self.counted,
            }
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(data, indent=2))
        part.replace(self._path)

    @property
    def unexplained(self) -> int:
        return sum(causes.get(losses.UNEXPLAINED, 0) for causes in list(self.lost.values()))

    @property
    def failed_calls(self) -> int:
        """Losses whose errors say that a call of the webhook failed."""
        failed = [causes for kind, causes in self.lost.items() if kind.startswith(losses.CALL)]
        return sum(sum(causes.values()) for causes in failed)

    def problems(self) -> list[str]:
        """Why the run has failed; none when it has not."""
        reported = self.counted.get
        found = {
            "nothing was admitted": not self.counts["admissions"],
            "wrong identity": self.counts["wrong"],
            "fail open": self.counts["fail_open"] or reported(counted.OPEN),
            "refused by the webhook": reported(counted.REFUSED),
            "unexplained loss": self.unexplained,
            "the API server counted other failed calls than the loader saw": (
                reported(counted.FAILED, 0) != self.failed_calls
            ),
        }
        return [name for name, bad in found.items() if bad]

    def table(self) -> str:
        """As it stands in the documentation."""
        done, seconds = self.counts["admissions"], max(self.seconds, 0.001)
        rows = [
            ("admissions", f"{done:,}"),
            ("load held", f"{done / seconds:,.0f} a second over {seconds / 60:,.0f} minutes"),
            *((f"fault: {name}", f"{count:,} times") for name, count in sorted(self.faults.items())),
            ("wrong identity", f"{self.counts['wrong']:,}"),
            ("created without identity (fail open)", f"{self.counts['fail_open']:,}"),
            *(
                (f"lost: {kind}; {cause}", f"{count:,}")
                for kind, causes in sorted(self.lost.items())
                for cause, count in sorted(causes.items())
            ),
            ("lost: unexplained, in all", f"{self.unexplained:,}"),
            ("failed webhook calls, as the loader saw them", f"{self.failed_calls:,}"),
            *((f"{name}, as the API server counted", f"{count:,}") for name, count in self.counted.items()),
        ]
        return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])
