"""A crash after every single write: the next process comes to the same state, and then writes nothing.

The operator runs in a loop of its own here, with a client that ends it after the n-th write. The scenario is
an installation, a change of it that prunes, and its removal.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.operated import Operated, Running, normal, operated
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.serving.authority import Authority
from vestibule.adapters.cluster import kubeconfig
from vestibule.adapters.cluster.calls import Call
from vestibule.adapters.cluster.client import Answer, Client
from vestibule.apps.operator.app import App, Options

Json = dict[str, Any]


class Fragile(Client):
    """Dies after so many writes that reached the API server; 0: never."""

    last: int = 0
    writes: int = 0

    def __init__(self, path: Path, last: int) -> None:
        super().__init__(kubeconfig.load([path], None))
        self.last = last
        self.dead = asyncio.Event()

    async def send(self, call: Call) -> Answer:
        if self.dead.is_set():
            await asyncio.Event().wait()  # a dead process says nothing more
        answer = await super().send(call)
        if call.method != "GET":
            self.writes += 1
            if self.writes == self.last:
                self.dead.set()
                await asyncio.Event().wait()
        return answer


class Crashing:
    """Runs operators one after the other."""

    def __init__(self, stand: Operated) -> None:
        self.stand = stand

    def _options(self, resync: float) -> Options:
        name = self.stand.name
        return Options(
            name, "crashing", "image", lease="", metrics_addr="", only=frozenset({name}), resync=resync
        )

    def until(self, done: Callable[[], bool], last: int = 0) -> tuple[int, bool]:
        """Run one until the state of the world is as wanted, or it dies; its writes, and whether it died."""
        return asyncio.run(self._until(done, last))

    async def _until(self, done: Callable[[], bool], last: int) -> tuple[int, bool]:
        client = Fragile(self.stand.kubeconfig, last)
        options = self._options(3600)
        stop = asyncio.Event()
        task = asyncio.create_task(App(client, options).run(stop))
        try:
            async with asyncio.timeout(60):
                while not client.dead.is_set() and not await asyncio.to_thread(done):
                    assert not task.done(), task.result()
                    await _pause()
        finally:
            stop.set()
            await task
            await _closed()
        return client.writes, client.dead.is_set()

    def quiet(self, seconds: float) -> int:
        """How much one writes in these seconds, when all is done."""

        async def work() -> int:
            client = Fragile(self.stand.kubeconfig, 0)
            options = self._options(1)
            stop = asyncio.Event()
            task = asyncio.create_task(App(client, options).run(stop))
            await asyncio.sleep(seconds)
            stop.set()
            await task
            await _closed()
            return client.writes

        return asyncio.run(work())


async def _pause() -> None:
    await asyncio.sleep(0.05)


async def _closed() -> None:
    """TLS says good-bye after the session is closed, and aiohttp does not wait for it."""
    await asyncio.sleep(0.1)


@pytest.fixture(scope="module")
def stand(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    """With a webhook that answers all the time, under a certificate that somebody else keeps."""
    folder = tmp_path_factory.mktemp("crashes")
    with operated(control_plane, folder) as made:
        authority = Authority("crashes")
        leaf = authority.leaf()
        secret = {"tls.crt": leaf.cert, "tls.key": leaf.key, "ca.crt": authority.pem}
        (folder / "cluster").mkdir()
        for key, content in secret.items():
            (folder / key).write_bytes(content)
        data = {key: base64.b64encode(content).decode() for key, content in secret.items()}
        thing = {"metadata": {"name": f"{made.name}-tls"}, "data": data}
        made.admin.create(at("secrets", made.name), thing).object  # noqa: B018 - raises
        made.webhook = Running(
            folder / "webhook",
            *("webhook", "--cluster", str(folder / "cluster"), "--addr", f"127.0.0.1:{made.port}"),
            *(
                "--metrics-addr",
                "",
                "--tls-cert",
                str(folder / "tls.crt"),
                "--tls-key",
                str(folder / "tls.key"),
            ),
        )
        yield made


@pytest.fixture(scope="module")
def bare(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    """Without a replica that answers."""
    with operated(control_plane, tmp_path_factory.mktemp("bare")) as made:
        yield made


def state(stand: Operated) -> Json:
    """Everything that was made, without keys and what keys decide."""
    found = {place: normal(one) for place, one in stand.owned().items()}
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


def condition(stand: Operated, kind: str, status: str) -> bool:
    answer = stand.admin.get(stand.path)
    if answer.status != 200:
        return False
    found = answer.object.get("status", {})
    if found.get("observedGeneration") != answer.object["metadata"]["generation"]:
        return False
    return any(one["type"] == kind and one["status"] == status for one in found.get("conditions", ()))


def begin(stand: Operated) -> None:
    stand.ask(replicas=2, certificate={"mode": "secret"})


def own(stand: Operated) -> None:
    """With a CA that the operator makes."""
    stand.ask(replicas=2)


def waits(stand: Operated) -> bool:
    """All is done that can be without a replica."""
    return condition(stand, "Progressing", "True") and condition(stand, "Reconciled", "True")


def change(stand: Operated) -> None:
    settings = {"exclude": {"hostNetwork": True}}
    stand.ask(replicas=1, guard="Off", settings=settings, certificate={"mode": "secret"})


def remove(stand: Operated) -> None:
    stand.admin.delete(stand.path)


def serves(stand: Operated) -> bool:
    """Registered, and kept."""
    return condition(stand, "Available", "True") and condition(stand, "Reconciled", "True")


def gone(stand: Operated) -> bool:
    return stand.admin.get(stand.path).status == 404


def cleared(stand: Operated) -> None:
    """Nothing of an installation is left."""
    if stand.admin.get(stand.path).status == 200:
        remove(stand)
        Crashing(stand).until(lambda: gone(stand))
    assert stand.owned() == {}


STEPS: dict[str, tuple[str, list[Callable[[Operated], None]], Callable[[Operated], bool]]] = {
    "installation": ("stand", [begin], serves),
    "own certificate": ("bare", [own], waits),
    "change": ("stand", [begin, change], serves),
    "removal": ("stand", [begin, remove], gone),
}


QUIET = {"installation": 30.0, "change": 30.0}
"""Seconds in which nothing is written; the others end in what is still waited for, or in nothing."""


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_after_any_write_comes_to_the_same_state(request: pytest.FixtureRequest, step: str) -> None:
    where, before, done = STEPS[step]
    stand: Operated = request.getfixturevalue(where)
    crashing = Crashing(stand)

    def prepare() -> None:
        cleared(stand)
        for act in before[:-1]:
            act(stand)
            crashing.until(lambda: serves(stand))
        before[-1](stand)

    prepare()
    writes, _ = crashing.until(lambda: done(stand))
    wanted = state(stand)
    assert writes > 3
    for last in range(1, writes + 1):
        prepare()
        _, died = crashing.until(lambda: done(stand), last)
        if died:
            crashing.until(lambda: done(stand))

        assert state(stand) == wanted, f"after a crash at write {last} of {writes}"
    assert crashing.quiet(QUIET.get(step, 3.0)) == 0
    cleared(stand)
