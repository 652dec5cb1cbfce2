"""The operator dies with every single write beside a hosted control plane and in its guest, on the way up and
on the way down; the next one comes to the same state, leaves nothing behind, and then is silent.

To die before a write is to die after the one before it; so every write is done once without anybody hearing
of it. None of a row of operators survives its first write: each begins with what the deaths before it left,
which is what a single death at that place leaves, too. A few single deaths, after which one lives to the end,
show that the next one goes on as the first would have, and reach the writes that no mortal one comes to.

Then every write is refused once, or its answer is lost.
"""

from __future__ import annotations

import asyncio
import base64
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.apiserver import hosted_controller_only, writes
from tests.apiserver.hosted_environment import HostedEnvironment, Kubelet, hosted_environment
from tests.apiserver.operator_installation import normal
from tests.apiserver.webhook_installation import path_of
from tests.apiserver.writes import FAULTS, Tally
from tests.rig import closed_sockets, definitions
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.faultproxy import FaultProxy
from tests.rig.faults import Cut, Status
from vestibule.kube import kubeconfig
from vestibule.kube.client import Client
from vestibule.manifests import crds
from vestibule.operator.app import OperatorOptions, OperatorProcess
from vestibule.operator.controllers.hosted import hypershift_webhooks, serving_certificate
from vestibule.operator.controllers.hosted.certificates import kubeconfig_text

pytestmark = pytest.mark.slow

Json = dict[str, Any]
OWNER = "vestibule.dev/owner"
CONVERGED_SECONDS = 120.0
"""A bound, not a measure: the pauses after a dozen refusals come to half of it on a busy machine."""


class Crashing:
    """A stand whose two API servers are behind proxies that count, and operators, one after the other."""

    def __init__(
        self, environment: HostedEnvironment, tally: Tally, management: FaultProxy, guest: FaultProxy
    ) -> None:
        self.environment, self.tally = environment, tally
        self._access = kubeconfig.load([environment.management.kubeconfig(url=management.url)])
        # the proxy calls as an administrator, so nobody needs to log in
        message = kubeconfig_text(guest.url, environment.guest.authority.pem.decode(), {})
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "service-network-admin-kubeconfig", "namespace": environment.namespace},
            "data": {"kubeconfig": base64.b64encode(message.encode()).decode()},
        }
        environment.admin.apply(path_of(secret), secret, "hypershift", force=True).object  # noqa: B018 - raises
        environment.server = guest.url

    def until(
        self,
        done: Callable[[], bool],
        last: int = 0,
        fault: Status | Cut | None = None,
        way: Sequence[str] = (),
    ) -> list[str]:
        """Run one until the world is as wanted, or it dies; what it wrote."""
        self.tally.begin(last, fault, way)
        over = functools.partial(self._over, done)
        asyncio.run(self._run(over, CONVERGED_SECONDS, alone=bool(way)))
        return list(self.tally.written)

    def _over(self, done: Callable[[], bool]) -> bool:
        return self.tally.dead.is_set() or done()

    def mortally(self, done: Callable[[], bool], way: Sequence[str]) -> list[str]:
        """None survives its first write of the way; what they died with. Many are started, and so only
        what writes."""
        self.tally.died.clear()
        for _ in range(100):
            self.until(done, way=way)
            if not self.tally.dead.is_set():
                return list(self.tally.died)
        raise AssertionError(f"100 operators died, and it is not done: {self.tally.died}")

    def quiet(self, seconds: float) -> list[str]:
        """What one writes in these seconds, looking again and again."""
        self.tally.begin()
        with_end = asyncio.run(self._run(lambda: False, seconds, resync=3.0))
        assert not with_end
        return list(self.tally.written)

    async def _run(
        self, done: Callable[[], bool], seconds: float, resync: float = 3600.0, *, alone: bool = False
    ) -> bool:
        """Whether it was done in time."""
        client = Client(self._access)
        options = OperatorOptions(
            self.environment.namespace,
            "crashing",
            "vestibule:test",
            lease="",
            metrics_addr="",
            only=frozenset({"nobody"}),
            issuers=False,
            resync=resync,
            hosted=True,
            hosted_namespaces=(self.environment.namespace,),
            loopback=True,
        )
        stop = asyncio.Event()
        work = (
            hosted_controller_only.run(client, options, stop)
            if alone
            else OperatorProcess(client, options).run(stop)
        )
        task = asyncio.create_task(work)
        try:
            async with asyncio.timeout(seconds):
                while not await asyncio.to_thread(done):
                    assert not task.done(), task.result()
                    await asyncio.sleep(0.1)
        except TimeoutError:
            assert resync < 3600.0, (
                f"waited {seconds:g} s: {self.environment.admin.get(self.environment.path).body!r}"
            )
            return False
        finally:
            stop.set()
            await task
            await closed_sockets.closed()
        return True


@pytest.fixture(scope="module")
def crashing(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crashing]:
    folder = tmp_path_factory.mktemp("crashing")
    for one in (crds.hosted_webhook(), crds.webhook()):
        control_plane.admin.apply(path_of(one), one, "test", force=True).object  # noqa: B018 - raises
        control_plane.admin.wait(path_of(one), lambda found: "status" in found)
    tally = Tally()
    with (
        definitions.installed(control_plane, definitions.HYPERSHIFT),
        hosted_environment(control_plane, folder) as environment,
        writes.proxy(control_plane, tally) as management,
        writes.proxy(environment.guest, tally, tls=True) as guest,
    ):
        created = Crashing(environment, tally, management, guest)  # before the Kubelet reads what it writes
        with Kubelet(environment, folder / "kubelet"):
            yield created


def state(environment: HostedEnvironment) -> Json:
    """Everything that was made in both clusters, without keys and what keys decide."""
    found: Json = {}
    near = [("secrets", "v1"), ("services", "v1"), ("deployments", "apps/v1")]
    near += [("poddisruptionbudgets", "policy/v1"), ("networkpolicies", "networking.k8s.io/v1")]
    wide = [("clusterroles", "rbac.authorization.k8s.io/v1")]
    wide += [("clusterrolebindings", "rbac.authorization.k8s.io/v1"), ("serviceaccounts", "v1")]
    wide += [("mutatingwebhookconfigurations", "admissionregistration.k8s.io/v1"), ("namespaces", "v1")]
    for admin, namespace, listed in (
        (environment.admin, environment.namespace, near),
        (environment.guest.admin, None, wide),
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


def serves(environment: HostedEnvironment) -> bool:
    reported = environment.admin.get(environment.path).object.get("status", {})
    shown = {one["type"]: one["status"] for one in reported.get("conditions", ())}
    return reported.get("observedGeneration") == 1 and shown.get("Available") == "True"


def gone(environment: HostedEnvironment) -> bool:
    return environment.admin.get(environment.path).status == 404


def clean(environment: HostedEnvironment) -> None:
    """The guest's namespace stays by design, and would make the next way up a shorter one."""
    where = at("namespaces", name=serving_certificate.GUEST_NAMESPACE)
    if environment.guest.admin.get(where).status == 200:
        environment.guest.admin.delete(where)
        # without a controller in the guest nobody else finishes it
        environment.guest.admin.replace(f"{where}/finalize", {**_named(), "spec": {"finalizers": []}})
        environment.guest.admin.wait_gone(where)


def _named() -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": serving_certificate.GUEST_NAMESPACE},
    }


@pytest.fixture
def environment(crashing: Crashing) -> Iterator[HostedEnvironment]:
    """As empty afterwards as before, however the test ended."""
    created = crashing.environment
    yield created
    if created.admin.get(created.path).status == 200:
        created.admin.delete(created.path)
        crashing.until(functools.partial(gone, created))
    clean(created)


@pytest.mark.slow
def test_a_death_with_any_write_comes_to_the_same_state(
    crashing: Crashing, environment: HostedEnvironment
) -> None:
    up, down = functools.partial(serves, environment), functools.partial(gone, environment)
    environment.ask()
    rising = crashing.until(up)
    expected = state(environment)
    environment.admin.delete(environment.path)
    falling = crashing.until(down)
    left = state(environment)
    clean(environment)
    assert len(rising) > 12
    assert len(falling) > 8
    assert [one for one in left if not one.startswith("namespaces ")] == []
    environment.ask()
    rose = crashing.mortally(up, rising)
    assert state(environment) == expected
    environment.admin.delete(environment.path)
    fell = crashing.mortally(down, falling)
    assert state(environment) == left
    clean(environment)
    ups, downs = writes.single(rising, rose), writes.single(falling, fell)
    for number in range(max(len(ups), len(downs))):
        environment.ask()
        rose += died_at(crashing, up, ups[min(number, len(ups) - 1)])
        assert state(environment) == expected, f"died with {rose[-1]}"
        environment.admin.delete(environment.path)
        fell += died_at(crashing, down, downs[min(number, len(downs) - 1)])
        assert state(environment) == left, f"died with {fell[-1]}"
        clean(environment)
    assert writes.survived(rising, rose) == set()
    assert writes.survived(falling, fell) == set()
    environment.ask()
    crashing.until(up)
    assert state(environment) == expected
    assert crashing.quiet(30.0) == []


def died_at(crashing: Crashing, done: Callable[[], bool], last: int) -> list[str]:
    """One dies with this write, and another lives until all is done; what it died with."""
    crashing.tally.died.clear()
    crashing.until(done, last)
    died = list(crashing.tally.died)
    crashing.until(done)
    return died


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_every_write_is_refused_once_and_all_is_done_all_the_same(
    crashing: Crashing, environment: HostedEnvironment, fault: str
) -> None:
    environment.ask()
    crashing.until(functools.partial(serves, environment), fault=FAULTS[fault])
    struck = len(crashing.tally.struck)
    assert struck > 12
    registered = environment.guest.admin.get(
        at(
            "mutatingwebhookconfigurations",
            name=hypershift_webhooks.OURS,
            api="admissionregistration.k8s.io/v1",
        )
    )
    assert registered.status == 200
    environment.admin.delete(environment.path)
    crashing.until(functools.partial(gone, environment), fault=FAULTS[fault])
    assert len(crashing.tally.struck) > 8
    assert environment.owned() == []
