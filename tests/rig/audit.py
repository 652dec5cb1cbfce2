"""The audit log of an API server: what was asked by whom, and what each webhook did to it.

An event is written after its answer has been sent, so a test waits for it. ``mark`` and ``since`` keep
tests on a shared server apart; better still is to filter by namespace.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class AuditLog:
    """Reads; never writes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def mark(self) -> int:
        """The present end of the log."""
        return self.path.stat().st_size if self.path.exists() else 0

    def events(self, since: int = 0, **fields: str) -> Iterator[Event]:
        """Whole events after the mark; ``namespace``, ``resource``, ``name``, ``verb``, ``user`` select."""
        if not self.path.exists():
            return
        with self.path.open("rb") as log:
            log.seek(since)
            for line in log:
                if line.endswith(b"\n") and _has(event := json.loads(line), fields):
                    yield event

    def wait(
        self,
        condition: Callable[[Event], object] = bool,
        *,
        since: int = 0,
        seconds: float = 10.0,
        **fields: str,
    ) -> Event:
        """The first event that is selected and holds. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while True:
            for event in self.events(since, **fields):
                if condition(event):
                    return event
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds:g} s for an audit event with {fields}")
            time.sleep(0.05)


def webhooks(event: Event) -> list[dict[str, Any]]:
    """What the mutating webhooks did, in order: ``{configuration, webhook, mutated, round, failed_open}``."""
    found = []
    for key, value in sorted(event.get("annotations", {}).items()):
        kind, _, place = key.partition("/round_")
        if kind == "mutation.webhook.admission.k8s.io":
            number = int(place.partition("_")[0])
            open_ = f"failed-open.{key}" in event["annotations"]
            found.append({**json.loads(value), "round": number, "failed_open": open_})
    return found


def _has(event: Event, fields: dict[str, str]) -> bool:
    about = {**event.get("objectRef", {}), "verb": event["verb"], "user": event["user"].get("username")}
    return all(about.get(field) == value for field, value in fields.items())
