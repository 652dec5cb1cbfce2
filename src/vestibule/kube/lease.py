"""Leader election by a Lease: one holder at a time, known to be one until its own deadline.

The holder renews every two seconds and gives up by itself when it could not for ten; others take over after
fifteen. ``leading`` is false before anybody else can be leader, even when this process was
stopped in between. Times are durations on our own clock; those that others wrote are never compared with it.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import math
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from vestibule import errors
from vestibule.api.gvk import Kind
from vestibule.kube import api_requests, client
from vestibule.kube.client import Client

logger = logging.getLogger(__name__)

LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases")
LEASE_SECONDS: Final = 15.0
RENEW_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 2.0


class Elector:
    """One candidate."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        identity: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        lease_seconds: float = LEASE_SECONDS,
        renew_seconds: float = RENEW_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._renew_seconds = renew_seconds
        self._retry_seconds = retry_seconds
        self._until = 0.0
        self._seen: tuple[str, str] = ("", "")
        self._seen_at = clock()

    @property
    def leading(self) -> bool:
        """Whether we hold the lease at this very moment."""
        return self._clock() < self._until

    def left(self) -> float:
        """Seconds in which nobody else can lead yet: what was begun while we led must end within them."""
        return max(0.0, self._until + (self._lease_seconds - self._renew_seconds) / 2 - self._clock())

    async def run(self) -> None:
        """Try and renew, for ever; on the way out the lease is let go."""
        try:
            while True:
                await self._once()
                await asyncio.sleep(self._pause())
        finally:
            await self._release()

    def _pause(self) -> float:
        """Until the next try. Who waits looks twice as often, and when the lease runs out: what the leader
        left behind, with or without a word, waits for that look."""
        if self.leading:
            return self._retry_seconds
        runs_out = self._seen_at + self._lease_seconds - self._clock()
        return min(self._retry_seconds / 2, runs_out if runs_out > 0 else math.inf)

    async def _once(self) -> None:
        led = self.leading
        try:
            began = self._clock()
            async with asyncio.timeout(self._renew_seconds / 2):
                if await self._try():
                    self._until = began + self._renew_seconds
        except (errors.VestibuleError, TimeoutError) as error:
            logger.warning("lease not renewed", extra={"lease": self._name, "error": str(error)})
        if led != self.leading:
            logger.info("leadership changed", extra={"lease": self._name, "leading": self.leading})

    async def _try(self) -> bool:
        """Whether the lease is ours after this; raises what the client raises."""
        answer = await self._client.send(api_requests.get(LEASE, self._namespace, self._name))
        if answer.status == 404:
            # by apply, which may be granted by name; under a name of our own, so that of two candidates one
            # meets a conflict
            made = self._lease({}, transitions=0)
            call = api_requests.apply(LEASE, made, field_manager=self._identity[:128], force=False)
            return await self._write(call)
        if answer.status != 200:
            client.raise_for(answer, f"reading lease {self._name}")
        lease: dict[str, Any] = msgspec.json.decode(answer.body)
        spec = lease.get("spec") or {}
        holder = str(spec.get("holderIdentity") or "")
        self._look(lease)
        if holder not in ("", self._identity) and self._clock() - self._seen_at < self._lease_seconds:
            self._until = 0.0
            return False
        moves = int(spec.get("leaseTransitions") or 0) + (holder != self._identity)
        return await self._write(
            api_requests.replace(LEASE, self._lease(lease["metadata"], transitions=moves))
        )

    def _look(self, lease: dict[str, Any]) -> None:
        """Remember when the lease last changed, by our own clock."""
        seen = (
            str(lease["metadata"].get("resourceVersion")),
            str((lease.get("spec") or {}).get("renewTime")),
        )
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock()

    async def _write(self, call: api_requests.ApiRequest) -> bool:
        answer = await self._client.send(call)
        if answer.status in (200, 201):
            return True
        if answer.status == 409:
            return False  # somebody was quicker
        client.raise_for(answer, f"writing lease {self._name}")
        return False

    def _lease(self, meta: dict[str, Any], *, transitions: int, holder: str | None = None) -> dict[str, Any]:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {**meta, "name": self._name, "namespace": self._namespace},
            "spec": {
                "holderIdentity": self._identity if holder is None else holder,
                "leaseDurationSeconds": max(1, round(self._lease_seconds)),
                "renewTime": now,
                "acquireTime": now,
                "leaseTransitions": transitions,
            },
        }

    async def _release(self) -> None:
        """Let others have it at once."""
        if not self.leading:
            return
        self._until = 0.0
        try:
            async with asyncio.timeout(2):
                answer = await self._client.send(api_requests.get(LEASE, self._namespace, self._name))
                if answer.status != 200:
                    return
                lease: dict[str, Any] = msgspec.json.decode(answer.body)
                spec = lease.get("spec") or {}
                if spec.get("holderIdentity") == self._identity:
                    moves = int(spec.get("leaseTransitions") or 0)
                    released = self._lease(lease["metadata"], transitions=moves, holder="")
                    await self._client.send(api_requests.replace(LEASE, released))
        except (errors.VestibuleError, TimeoutError):
            logger.warning("lease not released", extra={"lease": self._name})
