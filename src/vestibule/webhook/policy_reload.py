"""Holds the current policy and swaps it in one assignment, so that a request sees the old one or the
new, never both.

A pod is more than one request: the API server calls again after other webhooks. So the previous sandbox
policy is retained for a moment, and pods that began with it are finished with it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from vestibule.injection.policy import Policy, compile_policy
from vestibule.injection.sandbox.sandbox_policy import SandboxPolicy
from vestibule.kube.policy_sources import PolicySources
from vestibule.settingsfile import WatchedSettings

logger = logging.getLogger(__name__)
MOMENT: Final = 60.0
"""Seconds for which pods are finished with what they were begun with: the API server gives a request as
long."""


class CurrentPolicy:
    """The current policy, updated when the settings file or a policy source changes."""

    def __init__(
        self,
        watched: WatchedSettings,
        sources: PolicySources,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._earlier: list[tuple[float, SandboxPolicy]] = []
        self._watched = watched
        self._policy_sources = sources
        self._policy = compile_policy(watched.settings)
        self.failures = 0
        """Settings files that were not taken up."""

    def current(self) -> Policy:
        """The policy in force."""
        return self._policy

    @property
    def error(self) -> str:
        """Why the current settings file is not applied; empty if it is."""
        return self._watched.error

    @property
    def broken(self) -> int:
        """Policies that refuse identities in their scope, and entries that cannot be used."""
        return len(self._policy.broken) + len(self._policy_sources.problems)

    def unread(self) -> str:
        """What keeps the policy from being whole; empty when nothing does."""
        return self._policy_sources.missing(self._watched.settings)

    def check(self) -> None:
        """Look at the file once; take it up when it has changed and is good."""
        self._drop()
        before = self._watched.error
        if self._watched.check():
            self._compile()
            logger.info("settings taken up")
        elif self._watched.error and self._watched.error != before:
            self.failures += 1
            logger.error(
                "settings not taken up, keeping the last good ones", extra={"error": self._watched.error}
            )

    async def refresh(self) -> None:
        """Read the policy sources and apply changes."""
        if await self._policy_sources.look(self._watched.settings):
            self._compile()
            logger.info("policy taken up")

    def _compile(self) -> None:
        before, old = self._policy.broken, self._policy.sandbox
        settings = self._policy_sources.applied(self._watched.settings)
        kata_policy = self._policy_sources.kata_policy(settings)
        if old is not None:
            self._earlier.append((self._clock() + MOMENT, old))
        self._policy = compile_policy(settings, self._policy_sources.objects, kata_policy)
        self._drop()
        for problem in self._policy.broken:
            if problem not in before:
                logger.error(
                    "policy refuses identities in its scope",
                    extra={"place": problem.place, "problem": str(problem)},
                )

    def _drop(self) -> None:
        """What is older than a moment: a pod that names it gets what is in force."""
        now = self._clock()
        self._earlier = [(until, kata_policy) for until, kata_policy in self._earlier if until > now]
        if self._policy.sandbox is not None:
            self._policy.sandbox.earlier = {
                kata_policy.digest: kata_policy for _, kata_policy in self._earlier
            }
