"""Evicts pods that missed the webhook, so that their controllers recreate them; step by step.

Through the Eviction API, so that disruption budgets count. One pod of a workload at a time, at most so many a
minute, and no more at all once a replacement lacks the same again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

from vestibule import errors
from vestibule.api import gvk
from vestibule.checks import running_pods
from vestibule.checks.pod_report import PodController, PodEntry
from vestibule.diagnose.audit import eviction_rules
from vestibule.diagnose.audit.eviction_rules import EvictedPod
from vestibule.kube import api_requests, client, lister
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import ApiResponse, Client

Object = dict[str, Any]
Send = Callable[[ApiRequest, str], Awaitable[ApiResponse]]
"""Sends a call that writes; the text says what it does."""
Judge = Callable[[Sequence[Object]], Awaitable[frozenset[str]]]
"""Uids of the pods that lack the requested identity."""
_LATER: Final = 30.0
"""Seconds after which an eviction is tried again for a workload that could not spare a pod."""
_POLL: Final = 1.0
"""Seconds between two checks for a replacement."""
_TRIED_PER_STEP: Final = 8
"""Workloads that are tried in one step."""
Result = Literal["evicted", "would-evict", "blocked", "gone", "replaced", "missed", "failed"]


class EvictionOutcome(NamedTuple):
    """What became of one pod."""

    entry: PodEntry
    result: Result
    text: str = ""


class Evictions:
    """Evicts step by step; holds no state that must survive a restart."""

    def __init__(
        self,
        reading: Client,
        send: Send,
        judge: Judge,
        *,
        per_minute: int,
        clock: Callable[[], float],
        dry_run: bool = False,
    ) -> None:
        self._client = reading
        self._send = send
        self._judge = judge
        self._pause = 60.0 / per_minute
        self._clock = clock
        self._dry_run = dry_run
        self._waiting: list[PodEntry] = []
        self._evicted: dict[str, EvictedPod] = {}
        self._not_before: dict[str, float] = {}
        self._dry: set[str] = set()
        """Pods of a dry run: they still exist, and one dry run is enough."""
        self._next = 0.0
        self.halted = ""
        """Why nothing is evicted any more; empty while all is well."""

    def offer(self, entries: Iterable[PodEntry], *, jobs: bool = False) -> None:
        """Replace the list of candidates."""
        found = [one for one in entries if not eviction_rules.eligible(one, jobs=jobs)]
        self._dry &= {one.uid for one in found}
        self._waiting = [one for one in found if one.uid not in self._dry]

    def pass_over(self, entry: PodEntry) -> None:
        """Leave the pods of this one's workload as they are."""
        self._waiting = [one for one in self._waiting if _uid(one) != _uid(entry)]

    @property
    def left(self) -> int:
        """Pods that wait for their turn, or for their replacement."""
        return 0 if self.halted else len(self._waiting) + len(self._evicted)

    def rest(self) -> float:
        """Seconds until the next step can do something."""
        now = self._clock()
        if self._evicted:
            return _POLL
        due = (max(self._next, self._not_before.get(_uid(one), 0.0)) for one in self._waiting)
        return max(_POLL / 10, min(due, default=now + _LATER) - now)

    async def step(self) -> list[EvictionOutcome]:
        """Check the results of earlier evictions, then evict one more pod if it is time."""
        now = self._clock()
        outcomes: list[EvictionOutcome] = []
        for uid, evicted in list(self._evicted.items()):
            outcome = await self._became(evicted, now)
            if outcome is not None:
                del self._evicted[uid]
                outcomes.append(outcome)
                if outcome.result == "missed":
                    self.halted = outcome.text
                    self._waiting.clear()
        if self.halted or now < self._next:
            return outcomes
        tried = 0
        for entry in list(self._waiting):
            uid = _uid(entry)
            if uid in self._evicted or self._not_before.get(uid, 0.0) > now:
                continue
            tried += 1
            outcome = await self._evict(entry, now)
            if outcome is not None:
                outcomes.append(outcome)
            if tried == _TRIED_PER_STEP or self._clock() < self._next:
                break
        return outcomes

    async def _became(self, evicted: EvictedPod, now: float) -> EvictionOutcome | None:
        entry = evicted.entry
        _, pods = await self._workload(entry)
        fresh = [one for one in pods if one["metadata"]["uid"] not in evicted.known]
        missed = await self._judge(fresh) if fresh else frozenset()
        became = eviction_rules.became(evicted, pods, missed, now)
        if became == "waiting":
            return None
        if became == "missed":
            names = ", ".join(one["metadata"]["name"] for one in fresh if one["metadata"]["uid"] in missed)
            about = f"Pod {entry.namespace}/{names}, created in place of {entry.name}"
            return EvictionOutcome(
                entry, "missed", f"{about}, lacks the same identity again: the webhook does not mutate it"
            )
        return EvictionOutcome(entry, "replaced" if became == "replaced" else "gone")

    async def _evict(self, entry: PodEntry, now: float) -> EvictionOutcome | None:
        """One pod; None when its workload cannot spare it now."""
        controller, pods = await self._workload(entry)
        uids = frozenset(one["metadata"]["uid"] for one in pods)
        if controller is None or entry.uid not in uids:
            self._waiting.remove(entry)
            return EvictionOutcome(entry, "gone")
        if not eviction_rules.is_complete(controller, pods):
            self._not_before[_uid(entry)] = now + _POLL
            return None
        call = api_requests.evict(gvk.POD, entry.namespace, entry.name, uid=entry.uid, dry_run=self._dry_run)
        what = f"evicting Pod {entry.namespace}/{entry.name}"
        try:
            answer = await self._send(call, what)
        except errors.Unavailable as error:
            self._not_before[_uid(entry)] = now + _LATER
            return EvictionOutcome(entry, "failed", str(error))
        if answer.status == 429:
            # a budget forbids it now: others may go meanwhile
            self._not_before[_uid(entry)] = now + (answer.retry_after or _LATER)
            return EvictionOutcome(entry, "blocked", client.message(answer.body))
        self._waiting.remove(entry)
        if answer.status in (404, 409):
            return EvictionOutcome(entry, "gone")
        self._next = self._clock() + self._pause  # after the answer: slow calls never raise the rate
        if self._dry_run:
            self._dry.add(entry.uid)
            return EvictionOutcome(entry, "would-evict")
        self._evicted[_uid(entry)] = EvictedPod(entry, now, uids)
        return EvictionOutcome(entry, "evicted")

    async def _workload(self, entry: PodEntry) -> tuple[Object | None, list[Object]]:
        """The pod's controller and all its pods; None if it was deleted or replaced."""
        reference = _controller(entry)
        kind = gvk.BY_KIND[reference.kind]
        controller = await lister.one(self._client, kind, entry.namespace, reference.name)
        if controller is None or controller["metadata"]["uid"] != reference.uid:
            return None, []
        chosen = ((controller.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in sorted(chosen.items()))
        found = await lister.every(self._client, gvk.POD, entry.namespace, selector=selector)
        return controller, [
            one for one in found if (running_pods.controller(one) or {}).get("uid") == reference.uid
        ]


def _controller(entry: PodEntry) -> PodController:
    if entry.controller is None:
        raise ValueError("the pod has no controller")
    return entry.controller


def _uid(entry: PodEntry) -> str:
    return _controller(entry).uid
