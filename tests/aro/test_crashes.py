"""The operator dies with every single write, on the way up and on the way down; the next one comes to the
same state, leaves nothing behind, and then is silent. Then every write is refused once, or its answer lost.

Cluster API's manager does not run here: the test sets its owner references, which it takes seconds for.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.aro import manifests
from tests.aro.manifests import Wish
from tests.aro.operators import Operators
from tests.aro.stand import Cluster, Operator, Stand, owned, poll, said
from vestibule import errors
from vestibule.adapters.cluster import kubeconfig
from vestibule.adapters.cluster.calls import Call
from vestibule.adapters.cluster.client import Answer, Client

Json = dict[str, Any]


class Owned(Cluster):
    """A cluster whose objects have their owners from the beginning."""

    def again(self) -> None:
        """The same manifests under another name, in the same namespace."""
        self.wish = Wish(f"c{secrets.token_hex(4)}", auth=True)
        self.name = self.wish.name
        owned(self.admin, self.wish, self.namespace)

    def up(self) -> bool:
        control_plane = self.admin.get(self.path("AROControlPlane")).object
        return (
            all(said(control_plane, kind).get("status") == "True" for kind in ("Ready", "ExternalAuthReady"))
            and said(self.get("AROCluster"), "Ready").get("status") == "True"
            and len(self.get("AROMachinePool")["spec"].get("providerIDList") or ()) == 2
            and said(self.get("AROMachinePool"), "Ready").get("status") == "True"
        )

    def remove(self) -> None:
        """All at once: order is ours to keep."""
        for kind in ("Cluster", "MachinePool", "AROMachinePool", "AROControlPlane", "AROCluster"):
            self.admin.delete(self.path(kind))

    def down(self) -> bool:
        kinds = ("AROMachinePool", "AROControlPlane", "AROCluster")
        return not any(self.there(kind) for kind in kinds) and not self.embedded()

    def state(self) -> str:
        """Everything that was made, without what differs from one to the other."""
        found: Json = {}
        for name, one in self.embedded().items():
            meta = one["metadata"]
            owners = sorted(
                (owner["kind"], owner.get("controller", False)) for owner in meta["ownerReferences"]
            )
            found[name] = {
                "spec": one["spec"],
                "owners": owners,
                "annotations": sorted(meta.get("annotations", {}).items()),
                "ready": said(one, "Ready")["status"],
            }
        for kind in ("AROCluster", "AROControlPlane", "AROMachinePool"):
            one = self.get(kind)
            found[kind] = {
                "spec": one["spec"],
                "conditions": [
                    (told["type"], told["status"], told["reason"]) for told in one["status"]["conditions"]
                ],
                "resources": one["status"]["resources"],
                "annotations": sorted(one["metadata"]["annotations"].items()),
                "finalizers": one["metadata"]["finalizers"],
            }
        for one in self.admin.list(manifests.path("Secret", self.namespace)):
            found[f"Secret/{one['metadata']['name']}"] = sorted(one["data"])
        return repr(found).replace(self.name, "NAME")


class Fragile(Client):
    """Dies with its ``last`` write, which is done; strikes every other write once with ``fault``."""

    def __init__(self, path: Path, last: int, fault: str) -> None:
        super().__init__(kubeconfig.load([path]))
        self.last, self.fault = last, fault
        self.written: list[str] = []
        self.struck: set[str] = set()
        self.dead = threading.Event()

    async def send(self, call: Call) -> Answer:
        if self.dead.is_set():
            await asyncio.Event().wait()  # a dead process says nothing more
        if call.method == "GET":
            return await super().send(call)
        what = f"{call.method} {call.path.partition('?')[0]}"
        strikes = bool(self.fault) and what not in self.struck
        self.struck.add(what)
        if strikes and self.fault != "lost answer":
            return Answer(int(self.fault), b"", 0.0)
        answer = await super().send(call)
        self.written.append(what)
        if strikes:
            raise errors.Unavailable("the answer was lost")
        if len(self.written) == self.last:
            self.dead.set()
            await asyncio.Event().wait()
        return answer


class Crashing:
    """Operators, one after the other."""

    def __init__(self, stand: Stand) -> None:
        self._stand = stand

    def until(self, done: Callable[[], bool], last: int = 0, fault: str = "") -> Fragile:
        """Run one until the world is as wanted, or it dies."""
        path = self._stand.kubeconfig
        with Operator(self._stand, lambda: Fragile(path, last, fault)) as operator:
            poll("the operator to begin", lambda: operator.client is not None)
            client: Fragile = operator.client
            poll("the world to be as wanted", lambda: client.dead.is_set() or done(), 60)
        return client

    def mortally(self, done: Callable[[], bool]) -> int:
        """None survives its first write; how many died."""
        for count in range(200):
            if not self.until(done, last=1).dead.is_set():
                return count
        raise AssertionError("200 operators died, and it is not done")


@pytest.fixture(scope="module")
def crashing(stand: Stand, operators: Operators) -> Iterator[Crashing]:
    operators.stop()
    stand.manager.stop()
    yield Crashing(stand)
    stand.manager.start()


@pytest.fixture(scope="module")
def wanted(stand: Stand, crashing: Crashing) -> str:
    """What an operator that lives comes to."""
    cluster = Owned(stand)
    cluster.again()
    crashing.until(cluster.up)
    found = cluster.state()
    cluster.remove()
    crashing.until(cluster.down)
    return found


@pytest.mark.slow
def test_a_crash_with_every_write_comes_to_the_same_state(
    stand: Stand, crashing: Crashing, wanted: str
) -> None:
    cluster = Owned(stand)
    cluster.again()
    assert crashing.mortally(cluster.up) > 20
    assert cluster.state() == wanted
    cluster.remove()
    assert crashing.mortally(cluster.down) > 10


@pytest.mark.slow
@pytest.mark.parametrize("last", range(1, 36, 3))
def test_a_single_crash_comes_to_the_same_state(
    stand: Stand, crashing: Crashing, wanted: str, last: int
) -> None:
    cluster = Owned(stand)
    cluster.again()
    assert crashing.until(cluster.up, last).dead.is_set()
    crashing.until(cluster.up)
    assert cluster.state() == wanted
    cluster.remove()
    crashing.until(cluster.down, last // 2)
    crashing.until(cluster.down)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["409", "429", "503", "lost answer"])
def test_every_write_may_fail_once(stand: Stand, crashing: Crashing, fault: str) -> None:
    cluster = Owned(stand)
    cluster.again()
    assert len(crashing.until(cluster.up, fault=fault).struck) > 10
    cluster.remove()
    crashing.until(cluster.down, fault=fault)
