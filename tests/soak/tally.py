"""What a soak run has counted so far; it is kept in a file, so that a run can be interrupted and resumed."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, Final

COUNTS: Final = ("admissions", "wrong", "fail_open")
"""Wrong: another identity than the account's. Fail open: created without any, although ``Fail`` is set."""


class Tally:
    """Counts, by what happened; lost admissions by the fault that was under way."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        found: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}
        self.counts: dict[str, int] = {name: found.get(name, 0) for name in COUNTS}
        self.seconds: float = found.get("seconds", 0.0)
        self.faults: dict[str, int] = found.get("faults", {})
        self.lost: dict[str, int] = found.get("lost", {})
        self.words: dict[str, str] = found.get("words", {})

    def add(self, name: str) -> None:
        with self._lock:
            self.counts[name] += 1

    def lose(self, cause: str, words: str) -> None:
        """An admission that was not answered with a pod."""
        with self._lock:
            self.lost[cause] = self.lost.get(cause, 0) + 1
            self.words.setdefault(cause, words[:300])

    def fault(self, name: str) -> None:
        with self._lock:
            self.faults[name] = self.faults.get(name, 0) + 1

    def save(self) -> None:
        if self._path is None:
            return
        with self._lock:
            data = {
                **self.counts,
                "seconds": self.seconds,
                "faults": self.faults,
                "lost": self.lost,
                "words": self.words,
            }
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(data, indent=2))
        part.replace(self._path)

    def table(self) -> str:
        """As it stands in the documentation."""
        done, seconds = self.counts["admissions"], max(self.seconds, 0.001)
        rows = [
            ("admissions", f"{done:,}"),
            ("load held", f"{done / seconds:,.0f} a second over {seconds / 60:,.0f} minutes"),
            *((f"fault: {name}", f"{count:,} times") for name, count in sorted(self.faults.items())),
            ("wrong identity", f"{self.counts['wrong']:,}"),
            ("created without identity (fail open)", f"{self.counts['fail_open']:,}"),
            *((f"lost, {cause}", f"{count:,}") for cause, count in sorted(self.lost.items())),
        ]
        if not self.lost:
            rows.append(("lost", "0"))
        return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])
