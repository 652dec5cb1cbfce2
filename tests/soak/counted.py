"""The second count: what the API server itself counted of its calls to the webhook.

Its counters begin at zero with each start, so they are read at every fault, right before a restart, and once
the load has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bench import samples

from vestibule.manifests.webhook_configurations import WEBHOOK_NAME

FAILED: Final = "failed calls"
REFUSED: Final = "refusals"
OPEN: Final = "failed open"
_PREFIX: Final = "apiserver_admission_webhook"


def counts(text: str) -> dict[str, int]:
    """From the metrics of an API server. A refusal is an answer that was no, or a patch that did not fit."""

    def ours(labels: samples.Labels) -> bool:
        return labels.get("name") == WEBHOOK_NAME

    def failed(labels: samples.Labels) -> bool:
        return ours(labels) and labels.get("error_type") == "calling_webhook_error"

    rejections = samples.total(text, f"{_PREFIX}_rejection_count", ours)
    failures = samples.total(text, f"{_PREFIX}_rejection_count", failed)
    return {
        FAILED: int(failures),
        REFUSED: int(rejections - failures),
        OPEN: int(samples.total(text, f"{_PREFIX}_fail_open_count", ours)),
    }


class Counted:
    """Adds what is new to the tally; what was counted before the load is left out."""

    def __init__(self, read: Callable[[], str], add: Callable[[dict[str, int]], None]) -> None:
        self._read, self._add = read, add
        self._last = counts(read())

    def take(self) -> None:
        now = counts(self._read())
        self._add({name: now[name] - self._last[name] for name in now})
        self._last = now

    def restarted(self) -> None:
        """The counters are at zero again."""
        self._last = dict.fromkeys(self._last, 0)
