"""Holds the current policy and swaps it in one assignment, so that a request sees the old one or the
new, never both."""

from __future__ import annotations

import logging

from vestibule.adapters.settingsfile import Watched
from vestibule.core.mutation.policy import Policy, compile_policy

logger = logging.getLogger(__name__)


class Policies:
    """The policy in force, kept in step with the settings file."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._policy = compile_policy(watched.settings)
        self.failures = 0
        """Settings files that were not taken up."""

    def current(self) -> Policy:
        """The policy in force."""
        return self._policy

    @property
    def error(self) -> str:
        """Why the settings file as it stands is not in force; empty when it is."""
        return self._watched.error

    def check(self) -> None:
        """Look at the file once; take it up when it has changed and is good."""
        before = self._watched.error
        if self._watched.check():
            self._policy = compile_policy(self._watched.settings)
            logger.info("settings taken up")
        elif self._watched.error and self._watched.error != before:
            self.failures += 1
            logger.error(
                "settings not taken up, keeping the last good ones", extra={"error": self._watched.error}
            )
