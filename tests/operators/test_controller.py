"""What becomes of a key: outcomes are counted, failures come back, one key never takes others with it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from vestibule import errors
from vestibule.operator.controller import Controller
from vestibule.operator.result import Reconciled, RequeueAfter, Result, Terminal
from vestibule.operator.workqueue import Queue


class Counted:
    """Counts results."""

    def __init__(self) -> None:
        self.results: Counter[str] = Counter()

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        assert controller == "test"
        assert seconds >= 0
        self.results[result] += 1


def ran(
    reconcile: Callable[[str], Awaitable[Result]],
    keys: list[str],
    until: Callable[[Counter[str]], bool],
    timeout: float = 5.0,
    first_pause: float = 0.01,
) -> Counter[str]:
    """The results, once there are enough of them."""

    async def work() -> Counter[str]:
        metrics = Counted()
        queue: Queue[str] = Queue(first_pause=first_pause)
        controller = Controller("test", reconcile, queue, metrics, timeout=timeout, resync=3600)
        task = asyncio.create_task(controller.run())
        for key in keys:
            queue.add(key)
        async with asyncio.timeout(10):
            while not until(metrics.results):  # noqa: ASYNC110 - a counter tells nobody
                await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return metrics.results

    return asyncio.run(work())


def test_a_key_that_fails_comes_back_until_it_is_done() -> None:
    tries: Counter[str] = Counter()

    async def reconcile(key: str) -> Result:
        tries[key] += 1
        if tries[key] < 3:
            raise errors.Unavailable("not yet")
        return Reconciled()

    results = ran(reconcile, ["a"], lambda found: found["done"] == 1)

    assert results == {"failed": 2, "done": 1}


def test_a_conflict_is_no_reason_for_a_long_pause(caplog: pytest.LogCaptureFixture) -> None:
    kinds = {"conflict": errors.Conflict, "foreign": errors.ForeignObject, "silent": errors.Unavailable}

    async def reconcile(key: str) -> Result:
        raise kinds[key]("no")

    ran(reconcile, list(kinds), lambda found: found["failed"] == 3, first_pause=60)
    pauses = {vars(one)["key"]: vars(one)["again"] for one in caplog.records}

    assert pauses["conflict"] <= 5
    assert min(pauses["foreign"], pauses["silent"]) >= 30


def test_a_surprise_hits_one_key_only() -> None:
    async def reconcile(key: str) -> Result:
        if key == "broken":
            raise ZeroDivisionError
        return Reconciled()

    results = ran(reconcile, ["broken", "good"], lambda found: found["done"] > 0 and found["broken"] > 2)

    assert results["done"] == 1


def test_a_run_that_takes_too_long_is_cut() -> None:
    async def reconcile(key: str) -> Result:
        await asyncio.Event().wait()
        return Reconciled()

    assert ran(reconcile, ["a"], lambda found: found["late"] >= 1, timeout=0.02)["late"] >= 1


def test_outcomes_are_reported_apart() -> None:
    seen: Counter[str] = Counter()

    async def reconcile(key: str) -> Result:
        seen[key] += 1
        if key == "again" and seen[key] == 1:
            return RequeueAfter(0.01, "Waiting")
        return Terminal("Bad", "want better") if key == "stalled" else Reconciled(forget=True)

    results = ran(reconcile, ["again", "stalled"], lambda found: found.total() == 3)

    assert results == {"again": 1, "stalled": 1, "done": 1}
