"""Leadership: work runs while we lead, and a deposed leader writes nothing."""

from __future__ import annotations

import asyncio

import pytest

from tests.operators.recorder import Recorder
from vestibule.api import gvk
from vestibule.kube import api_requests
from vestibule.operator import leader_election
from vestibule.operator.fenced_client import FencedClient, LeadershipLost

CALL = api_requests.create(gvk.CONFIG_MAP, {"metadata": {"name": "a", "namespace": "n"}})


class Throne:
    """Leads as it is told."""

    def __init__(self) -> None:
        self.leading = False
        self.ended = False

    def left(self) -> float:
        return 0.05 if self.leading else 0.0

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True


async def until(condition: object) -> None:
    async with asyncio.timeout(5):
        while not condition():  # type: ignore[operator] # noqa: ASYNC110 - a flag tells nobody
            await asyncio.sleep(0.01)


def test_work_begins_ends_and_begins_again_with_leadership() -> None:
    async def work() -> list[str]:
        throne, reported = Throne(), list[str]()

        async def working() -> None:
            reported.append("begun")
            try:
                await asyncio.Event().wait()
            finally:
                assert not throne.ended  # the work ends before the lease is let go
                reported.append("ended")

        task = asyncio.create_task(leader_election.lead(throne, working))
        for lead, count in ((True, 1), (False, 2), (True, 3)):
            throne.leading = lead
            await until(lambda count=count: len(reported) == count)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert throne.ended
        return reported

    assert asyncio.run(work()) == ["begun", "ended", "begun", "ended"]


def test_who_does_not_lead_writes_nothing() -> None:
    async def work() -> list[str]:
        throne = Throne()
        async with Recorder() as server:
            writer = FencedClient(server.client, throne)
            throne.leading = True
            await writer.send(CALL, gvk.CONFIG_MAP, "first")
            throne.leading = False
            with pytest.raises(LeadershipLost, match="before it was written"):
                await writer.send(CALL, gvk.CONFIG_MAP, "second")
            return server.methods

    assert asyncio.run(work()) == ["POST"]


def test_a_write_does_not_outlive_the_fence() -> None:
    async def work() -> None:
        throne = Throne()
        throne.leading = True
        async with Recorder(hang=True) as server:
            writer = FencedClient(server.client, throne)
            with pytest.raises(LeadershipLost, match="ended before"):
                await writer.send(CALL, gvk.CONFIG_MAP, "first")

    asyncio.run(work())
