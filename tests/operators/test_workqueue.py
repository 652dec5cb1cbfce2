"""The queue: each key once, in time, never twice at once, and nobody is stalled by others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from vestibule.operator.workqueue import Queue


def run(work: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await work

    asyncio.run(bounded())


async def nothing(queue: Queue[str], seconds: float = 0.05) -> bool:
    """Whether no key comes within these seconds."""
    try:
        async with asyncio.timeout(seconds):
            await queue.get()
    except TimeoutError:
        return True
    return False


def test_a_key_that_is_added_often_comes_once() -> None:
    async def work() -> None:
        queue: Queue[str] = Queue()
        for _ in range(5):
            queue.add("a")

        assert await queue.get() == "a"
        assert await nothing(queue)

    run(work())


def test_a_key_that_is_added_while_it_runs_comes_once_more_and_not_at_the_same_time() -> None:
    async def work() -> None:
        queue: Queue[str] = Queue()
        queue.add("a")
        key = await queue.get()
        queue.add("a")
        queue.add("a")
        assert await nothing(queue)
        queue.done(key)

        assert await queue.get() == "a"
        queue.done("a")
        assert await nothing(queue)

    run(work())


def test_the_earlier_of_two_appointments_stands() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        queue: Queue[str] = Queue()
        began = loop.time()
        queue.add("a", after=30)
        queue.add("a", after=0.05)
        queue.add("a", after=10)

        assert await queue.get() == "a"
        assert 0.04 <= loop.time() - began < 5
        assert queue.waiting == 0

    run(work())


def test_pauses_of_a_key_grow_are_bounded_and_end_with_success() -> None:
    async def work() -> None:
        queue: Queue[str] = Queue(first_pause=1, longest_pause=8)
        pauses = [queue.back_off("a") for _ in range(6)]
        tops = [1, 2, 4, 8, 8, 8]
        assert all(top / 2 <= pause <= top for pause, top in zip(pauses, tops, strict=True))
        queue.forget("a")

        assert queue.back_off("a") <= 1
        assert queue.back_off("b") <= 1
        assert 2 <= [queue.back_off("a", longest=4) for _ in range(6)][-1] <= 4
        queue.close()

    run(work())


def test_keys_that_hang_stall_nobody() -> None:
    async def work() -> None:
        queue: Queue[str] = Queue(workers=2, most=40, patience=0.05)
        for number in range(20):
            queue.add(f"hangs-{number}")
        queue.add("quick")
        got = []
        while "quick" not in got:
            got.append(await queue.get())  # nobody says done

        assert len(got) == 21

    run(work())


def test_keys_that_were_slow_fill_half_of_the_house() -> None:
    async def work() -> None:
        queue: Queue[str] = Queue(workers=8, most=8, patience=0.02)
        slow = [f"slow-{number}" for number in range(8)]
        for key in slow:
            queue.add(key)
        for key in [await queue.get() for _ in slow]:
            await asyncio.sleep(0.03)
            queue.done(key)
        for key in slow:
            queue.add(key)
        queue.add("quick")
        got = [await queue.get() for _ in range(5)]

        assert "quick" in got
        assert queue.running == 5
        assert await nothing(queue)

    run(work())


def test_no_more_run_at_once_than_workers() -> None:
    async def work() -> None:
        queue: Queue[str] = Queue(workers=2, patience=60)
        for key in "abc":
            queue.add(key)
        first = [await queue.get(), await queue.get()]
        assert await nothing(queue)
        queue.done(first[0])

        assert await queue.get() == "c"

    run(work())
