"""Every write of an installation, a change and a removal is refused once, or its answer is lost: all is done
all the same, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from tests.apiserver import writes
from tests.apiserver.operator_installation import OperatorInstallation
from tests.apiserver.test_operator_crashes import begin, change, environment, gone, remove, serves, state
from tests.apiserver.writes import FAULTS, Tally
from tests.rig import closed_sockets
from tests.rig.faultproxy import FaultProxy
from tests.rig.faults import Cut, Status
from vestibule.kube import kubeconfig
from vestibule.kube.access import ClusterAccess
from vestibule.kube.client import Client
from vestibule.operator.app import OperatorOptions, OperatorProcess

pytestmark = pytest.mark.slow

__all__ = ["environment"]


@pytest.fixture(scope="module")
def tally() -> Tally:
    return Tally()


@pytest.fixture(scope="module")
def proxy(environment: OperatorInstallation, tally: Tally) -> Iterator[FaultProxy]:
    with writes.proxy(environment.plane, tally) as created:
        yield created


async def _until(
    environment: OperatorInstallation, access: ClusterAccess, done: Callable[[OperatorInstallation], bool]
) -> None:
    """An operator until the world is as wanted."""
    client = Client(access)
    name = environment.name
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
            while not await asyncio.to_thread(done, environment):
                assert not task.done(), task.result()
                await asyncio.sleep(0.1)
    finally:
        stop.set()
        await task
        await closed_sockets.closed()


@pytest.mark.slow
def test_every_write_is_refused_once_and_all_is_done_all_the_same(
    environment: OperatorInstallation, proxy: FaultProxy, tally: Tally
) -> None:
    access = kubeconfig.load([environment.plane.kubeconfig(url=proxy.url)])
    expected: dict[str, object] = {}
    faults: dict[str, Status | Cut | None] = {"none": None, **FAULTS}
    for name, fault in faults.items():
        for act, done in ((begin, serves), (change, serves), (remove, gone)):
            tally.begin(fault=fault)
            act(environment)
            asyncio.run(_until(environment, access, done))
            found = state(environment)
            assert found == expected.setdefault(act.__name__, found), f"{act.__name__}, {name}"
            assert fault is None or len(tally.struck) >= 3, f"{act.__name__}, {name}: {tally.struck}"
    assert expected["remove"] == {}
