"""The operator dies with every single write, on the way up and on the way down; the next one comes to the
same state, leaves nothing behind, and then is silent. Then every write is refused once, or its answer lost.

None of a row of operators survives its first write: each begins with what the deaths before it left, which is
what a single death at that place leaves, too. A few single deaths, after which one lives to the end, show
that the next one goes on as the first would have, and reach the writes that no mortal one comes to: whoever
died with a status leaves no change of it to be told in an Event.
Cluster API's manager does not run here: the test sets its owner references, which it takes seconds for.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.aro import asokinds, manifests
from tests.aro.environment import Cluster, Environment, Operator, owned, poll, said
from tests.aro.manifests import Wish
from tests.aro.operators import Operators
from vestibule import errors
from vestibule.aro import names
from vestibule.kube import kubeconfig
from vestibule.kube.access import ClusterAccess
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import ApiResponse, Client

pytestmark = pytest.mark.xdist_group("aro")

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

    def plain(self, written: Iterable[str]) -> set[str]:
        """Writes without the names of this one; how often a status is written is a matter of time."""
        return {one.replace(self.name, "NAME").replace(self.namespace, "SPACE") for one in written}

    def remove(self) -> None:
        """All at once: order is ours to keep. Nobody checks deletions here, so it is said that they are
        wanted, whether the Cluster is there or not."""
        expected = {"metadata": {"annotations": {names.DELETE_WITHOUT_CLUSTER: "true"}}}
        for kind in names.FINALIZERS:
            self.patch(kind, expected)
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
            holder = next(owner["uid"] for owner in meta["ownerReferences"] if owner.get("controller"))
            annotations = {
                key: "HOLDER" if value == holder else value for key, value in meta["annotations"].items()
            }
            found[name] = {
                "spec": one["spec"],
                "owners": owners,
                "annotations": sorted(annotations.items()),
                "ready": said(one, "Ready")["status"],
            }
        for kind in ("AROCluster", "AROControlPlane", "AROMachinePool"):
            one = self.get(kind)
            found[kind] = {
                "spec": one["spec"],
                "conditions": [
                    (reported["type"], reported["status"], reported["reason"])
                    for reported in one["status"]["conditions"]
                ],
                "resources": one["status"]["resources"],
                "annotations": sorted(one["metadata"]["annotations"].items()),
                "finalizers": one["metadata"]["finalizers"],
            }
        for one in self.admin.list(manifests.path("Secret", self.namespace)):
            found[f"Secret/{one['metadata']['name']}"] = sorted(one["data"])
        return repr(found).replace(self.name, "NAME")


class Fragile(Client):
    """Dies with its ``last`` write, which is done, or with the first that ``ends`` it; strikes every other
    write once with ``fault``."""

    def __init__(self, access: ClusterAccess, last: int, fault: str, ends: Callable[[str], bool]) -> None:
        super().__init__(access)
        self.last, self.fault, self._ends = last, fault, ends
        self.written: list[str] = []
        self.struck: set[str] = set()
        self.dead = threading.Event()

    async def send(self, call: ApiRequest) -> ApiResponse:
        if self.dead.is_set():
            await asyncio.Event().wait()  # a dead process says nothing more
        if call.method == "GET":
            return await super().send(call)
        what = f"{call.method} {call.path.partition('?')[0]}"
        strikes = bool(self.fault) and what not in self.struck
        self.struck.add(what)
        if strikes and self.fault != "lost answer":
            return ApiResponse(int(self.fault), b"", 0.0)
        answer = await super().send(call)
        self.written.append(what)
        if strikes:
            raise errors.Unavailable("the answer was lost")
        if len(self.written) == self.last or self._ends(what):
            self.dead.set()
            await asyncio.Event().wait()
        return answer


class Crashing:
    """Operators, one after the other."""

    def __init__(self, environment: Environment) -> None:
        self._stand = environment
        self._access = kubeconfig.load([environment.kubeconfig])

    def until(
        self,
        done: Callable[[], bool],
        last: int = 0,
        fault: str = "",
        ends: Callable[[str], bool] = lambda _: False,
        *,
        alone: bool = False,
    ) -> Fragile:
        """Run one until the world is as wanted, or it dies."""

        def fragile() -> Fragile:
            return Fragile(self._access, last, fault, ends)

        with Operator(self._stand, fragile, alone=alone) as operator:
            poll("the operator to begin", lambda: operator.client is not None)
            client: Fragile = operator.client
            poll("the world to be as wanted", lambda: client.dead.is_set() or done(), 60)
        return client

    def mortally(self, done: Callable[[], bool]) -> list[str]:
        """None survives its first write; what they died with. Many are started, and so only what writes."""
        died: list[str] = []
        for _ in range(200):
            client = self.until(done, last=1, alone=True)
            if not client.dead.is_set():
                return died
            died += client.written
        raise AssertionError(f"200 operators died, and it is not done: {died}")


@pytest.fixture(scope="module")
def crashing(environment: Environment, operators: Operators) -> Iterator[Crashing]:
    operators.stop()
    environment.manager.stop()
    yield Crashing(environment)
    environment.manager.start()


class Way(NamedTuple):
    """What an operator that lives comes to, and what it writes."""

    state: str
    rising: set[str]
    falling: set[str]


@pytest.fixture(scope="module")
def wanted(environment: Environment, crashing: Crashing) -> Way:
    cluster = Owned(environment)
    cluster.again()
    rising = crashing.until(cluster.up).written
    found = cluster.state()
    cluster.remove()
    falling = crashing.until(cluster.down).written
    return Way(found, cluster.plain(rising), cluster.plain(falling))


@pytest.mark.slow
def test_a_crash_with_every_write_comes_to_the_same_state(
    environment: Environment, crashing: Crashing, wanted: Way
) -> None:
    cluster = Owned(environment)
    cluster.again()
    rose = crashing.mortally(cluster.up)
    assert len(rose) > 20
    assert cluster.state() == wanted.state
    cluster.remove()
    fell = crashing.mortally(cluster.down)
    assert len(fell) > 10
    left = [(wanted.rising - cluster.plain(rose), True), (wanted.falling - cluster.plain(fell), False)]
    for what, rising in [(what, rising) for missed, rising in left for what in sorted(missed)]:
        cluster = Owned(environment)
        cluster.again()

        def ends(written: str, cluster: Owned = cluster, what: str = what) -> bool:
            return cluster.plain([written]) == {what}

        # Events, and a status on the way down (it is written only if a deletion outlasts a pass), depend on
        # how quickly others answer; whether they are written or not, the end is the same
        timed = what.endswith("/events" if rising else ("/events", "/status"))
        if rising:
            assert crashing.until(cluster.up, ends=ends).dead.is_set() or timed, what
        crashing.until(cluster.up)
        assert cluster.state() == wanted.state, f"after a death with {what}"
        cluster.remove()
        if not rising:
            assert crashing.until(cluster.down, ends=ends).dead.is_set() or timed, what
        crashing.until(cluster.down)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("upon", "last"), [("", 1), (f"/{asokinds.HCP.plural}/", 5), (f"/{asokinds.EXTERNAL_AUTH.plural}/", 10)]
)
def test_a_single_crash_comes_to_the_same_state(
    environment: Environment, crashing: Crashing, wanted: Way, upon: str, last: int
) -> None:
    """Early, in the middle and late: with the first write to such an object, and with the last-th one on the
    way down."""
    cluster = Owned(environment)
    cluster.again()
    assert crashing.until(cluster.up, ends=lambda what: upon in what).dead.is_set()
    crashing.until(cluster.up)
    assert cluster.state() == wanted.state
    cluster.remove()
    crashing.until(cluster.down, last)
    crashing.until(cluster.down)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["409", "429", "503", "lost answer"])
def test_every_write_may_fail_once(environment: Environment, crashing: Crashing, fault: str) -> None:
    cluster = Owned(environment)
    cluster.again()
    assert len(crashing.until(cluster.up, fault=fault).struck) > 10
    cluster.remove()
    crashing.until(cluster.down, fault=fault)
