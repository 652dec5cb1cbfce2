"""Every write of an installation, a change and a removal is refused once, or its answer is lost: all is done
all the same, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from tests.apiserver import writes
from tests.apiserver.operated import Operated
from tests.apiserver.test_operator_crashes import begin, change, gone, remove, serves, stand, state
from tests.apiserver.writes import FAULTS, Tally
from tests.rig import farewell
from tests.rig.faultproxy import FaultProxy
from tests.rig.faults import Cut, Status
from vestibule.kube import kubeconfig
from vestibule.kube.access import ClusterAccess
from vestibule.kube.client import Client
from vestibule.operator.app import OperatorOptions, OperatorProcess

pytestmark = pytest.mark.slow

__all__ = ["stand"]


@pytest.fixture(scope="module")
def tally() -> Tally:
    return Tally()


@pytest.fixture(scope="module")
def proxy(stand: Operated, tally: Tally) -> Iterator[FaultProxy]:
    with writes.proxy(stand.plane, tally) as made:
        yield made


async def _until(stand: Operated, access: ClusterAccess, done: Callable[[Operated], bool]) -> None:
    """An operator until the world is as wanted."""
    client = Client(access)
    name = stand.name
    options = OperatorOptions(
        *(name, "faults", "image"),
        lease="",
        metrics_addr="",
        only=frozenset({name}),
        issuers=False,
        resync=3600,
    )
    stop = asyncio.Event()
    task = asyncio.create_task(OperatorProcess(client, options).run(stop))
    try:
        async with asyncio.timeout(90):
            while not await asyncio.to_thread(done, stand):
                assert not task.done(), task.result()
                await asyncio.sleep(0.1)
    finally:
        stop.set()
        await task
        await farewell.closed()


@pytest.mark.slow
def test_every_write_is_refused_once_and_all_is_done_all_the_same(
    stand: Operated, proxy: FaultProxy, tally: Tally
) -> None:
    access = kubeconfig.load([stand.plane.kubeconfig(url=proxy.url)])
    wanted: dict[str, object] = {}
    faults: dict[str, Status | Cut | None] = {"none": None, **FAULTS}
    for name, fault in faults.items():
        for act, done in ((begin, serves), (change, serves), (remove, gone)):
            tally.begin(fault=fault)
            act(stand)
            asyncio.run(_until(stand, access, done))
            found = state(stand)
            assert found == wanted.setdefault(act.__name__, found), f"{act.__name__}, {name}"
            assert fault is None or len(tally.struck) >= 3, f"{act.__name__}, {name}: {tally.struck}"
    assert wanted["remove"] == {}
