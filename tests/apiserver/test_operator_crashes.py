"""A crash with every single write: the next process comes to the same state, and then writes nothing.

The operator runs in a loop of its own here, with a client that ends it. None of a row of operators survives
its first write: each begins with what the deaths before it left, which is what a single death at that place
leaves, too. A few single deaths, after which one lives to the end, show that the next one goes on as the
first would have. The scenarios are an installation, a change of it that prunes, and its removal.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver import writes
from tests.apiserver.child_process import Running
from tests.apiserver.operator_installation import OperatorInstallation, normal, operator_installed
from tests.rig import closed_sockets, process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.serving.authority import Authority
from vestibule.kube import kubeconfig
from vestibule.kube.access import ClusterAccess
from vestibule.kube.api_requests import ApiRequest
from vestibule.kube.client import ApiResponse, Client
from vestibule.operator.app import OperatorOptions, OperatorProcess

pytestmark = [pytest.mark.rig, pytest.mark.slow]

Json = dict[str, Any]


class Fragile(Client):
    """Dies with its ``last`` write, which is done; 0: never. One with a ``way`` is mortal, and dies with the
    first write of it that nobody ``died`` with before."""

    def __init__(
        self, access: ClusterAccess, last: int = 0, way: Sequence[str] = (), died: Sequence[str] = ()
    ) -> None:
        super().__init__(access)
        self._last, self._way, self._died = last, way, died
        self.written: list[str] = []
        self.dead = asyncio.Event()

    async def send(self, call: ApiRequest) -> ApiResponse:
        if self.dead.is_set():
            await asyncio.Event().wait()  # a dead process says nothing more
        answer = await super().send(call)
        if call.method != "GET":
            what = f"{call.method} {call.path.partition('?')[0]}"
            self.written.append(what)
            if len(self.written) == self._last or writes.deadly(self._way, self._died, what):
                self.dead.set()
                await asyncio.Event().wait()
        return answer


class Crashing:
    """Runs operators one after the other."""

    def __init__(self, environment: OperatorInstallation) -> None:
        self.environment = environment
        self._access = kubeconfig.load([environment.kubeconfig], None)

    def _options(self, resync: float) -> OperatorOptions:
        name = self.environment.name
        return OperatorOptions(
            *(name, "crashing", "image"),
            lease="",
            metrics_addr="",
            only=frozenset({name}),
            issuers=False,
            resync=resync,
        )

    def until(
        self, done: Callable[[], bool], last: int = 0, way: Sequence[str] = (), died: Sequence[str] = ()
    ) -> Fragile:
        """Run one until the state of the world is as wanted, or it dies."""
        return asyncio.run(self._until(done, Fragile(self._access, last, way, died)))

    async def _until(self, done: Callable[[], bool], client: Fragile) -> Fragile:
        options = self._options(3600)
        stop = asyncio.Event()
        task = asyncio.create_task(OperatorProcess(client, options).run(stop))
        try:
            async with asyncio.timeout(60):
                while not client.dead.is_set() and not await asyncio.to_thread(done):
                    assert not task.done(), task.result()
                    await asyncio.sleep(0.1)
        finally:
            stop.set()
            await task
            await closed_sockets.closed()
        return client

    def mortally(self, done: Callable[[], bool], way: Sequence[str]) -> list[str]:
        """None survives its first write of the way; what they died with."""
        died: list[str] = []
        for _ in range(100):
            client = self.until(done, way=way, died=died)
            if not client.dead.is_set():
                return died
            died.append(client.written[-1])
        raise AssertionError(f"100 operators died, and it is not done: {died}")

    async def quiet(self, seconds: float) -> list[str]:
        """What one writes in these seconds, when all is done."""
        client = Fragile(self._access)
        stop = asyncio.Event()
        task = asyncio.create_task(OperatorProcess(client, self._options(3)).run(stop))
        await asyncio.sleep(seconds)
        stop.set()
        await task
        await closed_sockets.closed()
        return client.written


@contextlib.contextmanager
def served(plane: ControlPlane, folder: Path) -> Iterator[OperatorInstallation]:
    """With a webhook that answers all the time, under a certificate that somebody else keeps."""
    with operator_installed(plane, folder) as created:
        authority = Authority("crashes")
        leaf = authority.leaf()
        secret = {"tls.crt": leaf.cert, "tls.key": leaf.key, "ca.crt": authority.pem}
        (folder / "cluster").mkdir()
        for key, content in secret.items():
            (folder / key).write_bytes(content)
        data = {key: base64.b64encode(content).decode() for key, content in secret.items()}
        obj = {"metadata": {"name": f"{created.name}-tls"}, "data": data}
        created.admin.create(at("secrets", created.name), obj).object  # noqa: B018 - raises
        created.webhook = Running(
            folder / "webhook",
            *("webhook", "--cluster", str(folder / "cluster"), "--addr", f"127.0.0.1:{created.port}"),
            *("--metrics-addr", ""),
            *("--tls-cert", str(folder / "tls.crt"), "--tls-key", str(folder / "tls.key")),
        )
        yield created


@pytest.fixture(scope="module")
def environment(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorInstallation]:
    """One that is installed and removed."""
    with served(control_plane, tmp_path_factory.mktemp("crashes")) as created:
        yield created


@pytest.fixture(scope="module")
def other(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorInstallation]:
    """One that is changed."""
    with served(control_plane, tmp_path_factory.mktemp("changed")) as created:
        yield created


@pytest.fixture(scope="module")
def bare(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorInstallation]:
    """Without a replica that answers."""
    with operator_installed(control_plane, tmp_path_factory.mktemp("bare")) as created:
        yield created


def state(environment: OperatorInstallation) -> Json:
    """Everything that was made, without keys and what keys decide."""
    found = {place: normal(one) for place, one in environment.owned().items()}
    for place, one in found.items():
        one["metadata"].get("annotations", {}).pop("vestibule.dev/applied", None)
        if place.startswith("Secret"):
            one["data"] = sorted(one["data"])
        for hook in one.get("webhooks", ()):
            hook["clientConfig"]["caBundle"] = bool(hook["clientConfig"].get("caBundle"))
        if place.startswith("Service "):
            for key in ("clusterIP", "clusterIPs"):
                one["spec"].pop(key)
        if place.startswith("Deployment"):
            one["metadata"]["annotations"].pop("deployment.kubernetes.io/revision", None)
    return found


def condition(environment: OperatorInstallation, kind: str, status: str) -> bool:
    answer = environment.admin.get(environment.path)
    if answer.status != 200:
        return False
    found = answer.object.get("status", {})
    if found.get("observedGeneration") != answer.object["metadata"]["generation"]:
        return False
    return any(one["type"] == kind and one["status"] == status for one in found.get("conditions", ()))


def begin(environment: OperatorInstallation) -> None:
    environment.ask(replicas=2, certificate={"mode": "secret"})


def own(environment: OperatorInstallation) -> None:
    """With a CA that the operator makes."""
    environment.ask(replicas=2)


def waits(environment: OperatorInstallation) -> bool:
    """All is done that can be without a replica."""
    return condition(environment, "Progressing", "True") and condition(environment, "Reconciled", "True")


def change(environment: OperatorInstallation) -> None:
    settings = {"exclude": {"hostNetwork": True}}
    environment.ask(replicas=1, guard="Off", settings=settings, certificate={"mode": "secret"})


def remove(environment: OperatorInstallation) -> None:
    environment.admin.delete(environment.path)


def serves(environment: OperatorInstallation) -> bool:
    """Registered, and kept."""
    return condition(environment, "Available", "True") and condition(environment, "Reconciled", "True")


def gone(environment: OperatorInstallation) -> bool:
    return environment.admin.get(environment.path).status == 404


def removed(environment: OperatorInstallation) -> None:
    """An operator leaves nothing of an installation."""
    if environment.admin.get(environment.path).status == 200:
        remove(environment)
        Crashing(environment).until(lambda: gone(environment))
    assert environment.owned() == {}


def cleared(environment: OperatorInstallation) -> None:
    """Nothing of an installation is left, and no operator was needed for it."""
    if environment.admin.get(environment.path).status == 200:
        environment.admin.patch(environment.path, {"metadata": {"finalizers": []}}).object  # noqa: B018 - raises
        remove(environment)
    for place in environment.owned():
        environment.admin.delete(environment.where(*place.split()))
    process.wait("nothing to be left", lambda: gone(environment) and environment.owned() == {}, 30)


STEPS: dict[
    str, tuple[str, list[Callable[[OperatorInstallation], None]], Callable[[OperatorInstallation], bool]]
] = {
    "removal": ("environment", [begin, remove], gone),
    "installation": ("environment", [begin], serves),
    "own certificate": ("bare", [own], waits),
    "change": ("other", [begin, change], serves),
}


def prepare(environment: OperatorInstallation, before: list[Callable[[OperatorInstallation], None]]) -> None:
    """Everything but the last act is done, and that one asked for."""
    cleared(environment)
    for act in before[:-1]:
        act(environment)
        Crashing(environment).until(lambda: serves(environment))
    before[-1](environment)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_with_any_write_comes_to_the_same_state(request: pytest.FixtureRequest, step: str) -> None:
    where, before, finished = STEPS[step]
    environment: OperatorInstallation = request.getfixturevalue(where)
    crashing = Crashing(environment)

    def done() -> bool:
        return finished(environment)

    prepare(environment, before)
    way = crashing.until(done).written
    expected = state(environment)
    assert len(way) > 3
    prepare(environment, before)
    died = crashing.mortally(done, way)
    assert state(environment) == expected, f"after crashes with {died}"
    for last in writes.single(way, died):
        prepare(environment, before)
        client = crashing.until(done, last)
        if client.dead.is_set():
            died.append(client.written[-1])
            crashing.until(done)
        assert state(environment) == expected, f"after a crash at write {last} of {way}"
    assert writes.survived(way, died) == set()
    if step not in ASLEEP:
        assert asyncio.run(crashing.quiet(3.0)) == []
        removed(environment)


ASLEEP = {"installation": 30.0, "change": 30.0}
"""Scenarios after which nothing is written for so many seconds; the others end in what is still waited for,
or in nothing."""


@pytest.mark.slow
def test_when_all_is_done_nothing_is_written(request: pytest.FixtureRequest) -> None:
    """Both at the same time: half a minute is long."""
    stands: list[OperatorInstallation] = []
    for step in ASLEEP:
        where, before, finished = STEPS[step]
        environment: OperatorInstallation = request.getfixturevalue(where)
        if environment.admin.get(environment.path).status == 404:
            prepare(environment, before)
            Crashing(environment).until(functools.partial(finished, environment))
        assert finished(environment)
        stands.append(environment)

    async def written(seconds: float) -> list[list[str]]:
        return await asyncio.gather(*(Crashing(one).quiet(seconds) for one in stands))

    for one in stands:  # each sees the other, and tells of it
        Crashing(one).until(functools.partial(condition, one, "Alone", "False"))
    assert asyncio.run(written(max(ASLEEP.values()))) == [[], []]
    for environment in stands:
        removed(environment)
