"""The operator dies with every single write beside a hosted control plane and in its guest, on the way up and
on the way down; the next one comes to the same state, leaves nothing behind, and then is silent.

To die before a write is to die after the one before it; so every write is done once without anybody hearing
of it. Then every write is refused once, or its answer is lost.
"""

from __future__ import annotations

import asyncio
import base64
import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.apiserver import writes
from tests.apiserver.hall import path_of
from tests.apiserver.hostedstand import HostedStand, Kubelet, hosted_stand
from tests.apiserver.operated import normal
from tests.apiserver.writes import FAULTS, Tally
from tests.rig import definitions
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.faultproxy import FaultProxy
from tests.rig.faults import Cut, Status
from vestibule.adapters.cluster import kubeconfig
from vestibule.adapters.cluster.client import Client
from vestibule.apps.operator.app import App, Options
from vestibule.apps.operator.hosted import identity, webhooks
from vestibule.apps.operator.hosted.certificates import kubeconfig_text
from vestibule.core.native import crds

Json = dict[str, Any]
OWNER = "vestibule.dev/owner"


class Crashing:
    """A stand whose two API servers are behind proxies that count, and operators, one after the other."""

    def __init__(self, stand: HostedStand, tally: Tally, management: FaultProxy, guest: FaultProxy) -> None:
        self.stand, self.tally = stand, tally
        self._kubeconfig = stand.management.kubeconfig(url=management.url)
        # the proxy calls as an administrator, so nobody needs to log in
        said = kubeconfig_text(guest.url, stand.guest.authority.pem.decode(), {})
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "service-network-admin-kubeconfig", "namespace": stand.namespace},
            "data": {"kubeconfig": base64.b64encode(said.encode()).decode()},
        }
        stand.admin.apply(path_of(secret), secret, "hypershift", force=True).object  # noqa: B018 - raises
        stand.server = guest.url

    def until(self, done: Callable[[], bool], last: int = 0, fault: Status | Cut | None = None) -> list[str]:
        """Run one until the world is as wanted, or it dies; what it wrote."""
        self.tally.begin(last, fault)
        asyncio.run(self._run(lambda: self.tally.dead.is_set() or done(), 60))
        return list(self.tally.written)

    def quiet(self, seconds: float) -> list[str]:
        """What one writes in these seconds, looking again and again."""
        self.tally.begin()
        with_end = asyncio.run(self._run(lambda: False, seconds, resync=1.0))
        assert not with_end
        return list(self.tally.written)

    async def _run(self, done: Callable[[], bool], seconds: float, resync: float = 3600.0) -> bool:
        """Whether it was done in time."""
        client = Client(kubeconfig.load([self._kubeconfig]))
        options = Options(
            self.stand.namespace,
            "crashing",
            "vestibule:test",
            lease="",
            metrics_addr="",
            only=frozenset({"nobody"}),
            resync=resync,
            hosted=True,
            hosted_namespaces=(self.stand.namespace,),
        )
        stop = asyncio.Event()
        task = asyncio.create_task(App(client, options).run(stop))
        try:
            async with asyncio.timeout(seconds):
                while not await asyncio.to_thread(done):
                    assert not task.done(), task.result()
                    await asyncio.sleep(0.05)
        except TimeoutError:
            assert resync < 3600.0, f"waited {seconds:g} s: {self.stand.admin.get(self.stand.path).body!r}"
            return False
        finally:
            stop.set()
            await task
            await asyncio.sleep(0.1)  # TLS says good-bye after the session is closed
        return True


@pytest.fixture(scope="module")
def crashing(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crashing]:
    folder = tmp_path_factory.mktemp("crashing")
    paths = definitions.install(control_plane, definitions.HYPERSHIFT)
    for one in (crds.hosted_webhook(), crds.webhook()):
        control_plane.admin.apply(path_of(one), one, "test", force=True).object  # noqa: B018 - raises
        control_plane.admin.wait(path_of(one), lambda found: "status" in found)
    tally = Tally()
    with hosted_stand(control_plane, folder) as stand:
        management, guest = writes.proxy(control_plane, tally), writes.proxy(stand.guest, tally)
        with management, guest:
            made = Crashing(stand, tally, management, guest)
            with Kubelet(stand, folder / "kubelet"):
                yield made
    for path in paths:
        control_plane.admin.delete(path)
        control_plane.admin.wait_gone(path)


def state(stand: HostedStand) -> Json:
    """Everything that was made in both clusters, without keys and what keys decide."""
    found: Json = {}
    near = [("secrets", "v1"), ("services", "v1"), ("deployments", "apps/v1")]
    near += [("poddisruptionbudgets", "policy/v1"), ("networkpolicies", "networking.k8s.io/v1")]
    wide = [("clusterroles", "rbac.authorization.k8s.io/v1")]
    wide += [("clusterrolebindings", "rbac.authorization.k8s.io/v1"), ("serviceaccounts", "v1")]
    wide += [("mutatingwebhookconfigurations", "admissionregistration.k8s.io/v1"), ("namespaces", "v1")]
    for admin, namespace, listed in (
        (stand.admin, stand.namespace, near),
        (stand.guest.admin, None, wide),
    ):
        for plural, api in listed:
            for one in admin.list(at(plural, namespace, api=api), labelSelector=OWNER):
                plain = normal(one)
                plain["metadata"].pop("annotations", None)
                if plural == "secrets":
                    plain["data"] = sorted(plain["data"])
                if plural == "services":
                    plain["spec"] = plain["spec"]["ports"][0]["port"]
                for hook in plain.get("webhooks", ()):
                    hook["clientConfig"]["caBundle"] = bool(hook["clientConfig"].get("caBundle"))
                found[f"{plural} {one['metadata']['name']}"] = plain
    return found


def serves(stand: HostedStand) -> bool:
    told = stand.admin.get(stand.path).object.get("status", {})
    current = told.get("observedGeneration") == 1
    return current and stand.condition("Available").get("status") == "True"


def gone(stand: HostedStand) -> bool:
    return stand.admin.get(stand.path).status == 404


def clean(stand: HostedStand) -> None:
    """The guest's namespace stays by design, and would make the next way up a shorter one."""
    where = at("namespaces", name=identity.GUEST_NAMESPACE)
    if stand.guest.admin.get(where).status == 200:
        stand.guest.admin.delete(where)
        # without a controller in the guest nobody else finishes it
        stand.guest.admin.replace(f"{where}/finalize", {**_named(), "spec": {"finalizers": []}})
        stand.guest.admin.wait_gone(where)


def _named() -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": identity.GUEST_NAMESPACE}}


@pytest.mark.slow
def test_a_death_with_any_write_comes_to_the_same_state(crashing: Crashing) -> None:
    stand = crashing.stand
    up, down = functools.partial(serves, stand), functools.partial(gone, stand)
    stand.ask()
    rising = crashing.until(up)
    wanted = state(stand)
    stand.admin.delete(stand.path)
    falling = crashing.until(down)
    left = state(stand)
    clean(stand)
    assert len(rising) > 12
    assert len(falling) > 8
    assert [one for one in left if not one.startswith("namespaces ")] == []
    deaths = 0
    for last in range(1, max(len(rising), len(falling)) + 1):
        stand.ask()
        crashing.until(up, last)
        deaths += crashing.tally.dead.is_set()
        crashing.until(up)
        assert state(stand) == wanted, f"died with {rising[min(last, len(rising)) - 1]}"
        stand.admin.delete(stand.path)
        crashing.until(down, last)
        deaths += crashing.tally.dead.is_set()
        crashing.until(down)
        assert state(stand) == left, f"died with {falling[min(last, len(falling)) - 1]}"
        clean(stand)
    # with the last write of a way the world is as wanted, and may be seen to be before the death is
    assert deaths >= len(rising) + len(falling) - 2
    stand.ask()
    crashing.until(up)
    assert state(stand) == wanted
    assert crashing.quiet(30.0) == []
    stand.admin.delete(stand.path)
    crashing.until(down)
    clean(stand)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_every_write_is_refused_once_and_all_is_done_all_the_same(crashing: Crashing, fault: str) -> None:
    stand = crashing.stand
    stand.ask()
    crashing.until(functools.partial(serves, stand), fault=FAULTS[fault])
    struck = len(crashing.tally.struck)
    assert struck > 12
    registered = stand.guest.admin.get(
        at("mutatingwebhookconfigurations", name=webhooks.OURS, api="admissionregistration.k8s.io/v1")
    )
    assert registered.status == 200
    stand.admin.delete(stand.path)
    crashing.until(functools.partial(gone, stand), fault=FAULTS[fault])
    assert len(crashing.tally.struck) > 8
    assert stand.owned() == []
    clean(stand)
