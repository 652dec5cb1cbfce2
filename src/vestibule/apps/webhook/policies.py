"""Holds the current policy and swaps it in one assignment, so that a request sees the old one or the
new, never both."""

from __future__ import annotations

import logging

from vestibule.adapters.cluster.supplements import Supplements
from vestibule.adapters.settingsfile import Watched
from vestibule.core.mutation.policy import Policy, compile_policy

logger = logging.getLogger(__name__)


class Policies:
    """The policy in force, kept in step with the settings file and what stands beside it."""

    def __init__(self, watched: Watched, supplements: Supplements) -> None:
        self._watched = watched
        self._supplements = supplements
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

    @property
    def broken(self) -> int:
        """Entries and objects that are left out, because they cannot be used."""
        return len(self._policy.broken) + len(self._supplements.problems)

    def unread(self) -> str:
        """What keeps the policy from being whole; empty when nothing does."""
        return self._supplements.missing(self._watched.settings)

    def check(self) -> None:
        """Look at the file once; take it up when it has changed and is good."""
        before = self._watched.error
        if self._watched.check():
            self._compile()
            logger.info("settings taken up")
        elif self._watched.error and self._watched.error != before:
            self.failures += 1
            logger.error(
                "settings not taken up, keeping the last good ones", extra={"error": self._watched.error}
            )

    async def look(self) -> None:
        """Look at what stands beside the settings; take up what changed."""
        if await self._supplements.look(self._watched.settings):
            self._compile()
            logger.info("policy taken up")

    def _compile(self) -> None:
        before = self._policy.broken
        settings = self._supplements.applied(self._watched.settings)
        world = self._supplements.world(settings)
        self._policy = compile_policy(settings, self._supplements.objects, world)
        for problem in self._policy.broken:
            if problem not in before:
                logger.warning("left out", extra={"place": problem.place, "problem": str(problem)})
