"""The hosted controller on two real API servers: up in order, steady, through a guest's death, and down."""

from __future__ import annotations

import asyncio
import base64
import datetime
import math
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.apiserver.hosted_environment import hosted_control_plane
from tests.apiserver.sidecar_kubelet import SidecarKubelet
from tests.apiserver.test_hosted import (
    CASES,
    LABELLED,
    Hosted,
    _deployment,
    create,
    hosted,
    hosted_namespace,
    wait_served,
)
from tests.apiserver.webhook_installation import path_of
from tests.process.webhook import free_port
from tests.rig import closed_sockets, definitions
from tests.rig.client import JSON_PATCH, at
from tests.vectors.hypershift_attach import mutated
from tests.vectors.hypershift_pki import text
from vestibule.api.hostedwebhook import FINALIZER
from vestibule.httpclient.address_guard import AddressGuard
from vestibule.kube import kubeconfig
from vestibule.kube.client import Client
from vestibule.kube.client_pool import ClientPool
from vestibule.manifests import crds
from vestibule.operator.apply import Applier
from vestibule.operator.controller import Controller
from vestibule.operator.controllers.hosted import finalize, hypershift_webhooks, serving_certificate, teardown
from vestibule.operator.controllers.hosted import hosted_objects as guest_objects
from vestibule.operator.controllers.hosted.certificates import by_certificate, kubeconfig_text
from vestibule.operator.controllers.hosted.reader import MANAGER
from vestibule.operator.controllers.hosted.reconciler import HostedReconciler, HostedReconcilerDeps
from vestibule.operator.events import Events
from vestibule.operator.fenced_client import AlwaysLeader, FencedClient
from vestibule.operator.result import Reconciled, RequeueAfter, Result
from vestibule.operator.workqueue import Queue
from vestibule.pki import profile
from vestibule.pki.leaf import CertificatePair

pytestmark = pytest.mark.slow

__all__ = ["hosted", "hosted_namespace"]
Json = dict[str, Any]
T = TypeVar("T")
API = "vestibule.dev/v1alpha1"


@pytest.fixture(scope="module")
def kinds(hosted: Hosted) -> Iterator[None]:
    """The real definitions, and ours."""
    admin, ours = hosted.management.admin, crds.hosted_webhook()
    admin.apply(path_of(ours), ours, "hosted", force=True).object  # noqa: B018 - raises
    admin.wait(path_of(ours), _established)
    sources = (definitions.HYPERSHIFT, definitions.CLUSTER, definitions.KUBEADM)
    paths = definitions.install(hosted.management, *sources)
    yield
    for path in [path_of(ours), *paths]:
        admin.delete(path)
        admin.wait_gone(path)


def _established(item: Json) -> bool:
    found = (item.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in found)


class Asked:
    """A request, the webhook's place, and looks at it."""

    def __init__(self, hosted: Hosted, name: str, server: str = "", **spec: Any) -> None:
        self.hosted, self.name, self.port = hosted, name, free_port()
        self.namespace = hosted.control_plane["metadata"]["namespace"]
        self.key = f"{self.namespace}/{name}"
        self.path = at("hostedwebhooks", self.namespace, name, api=API)
        self.now = datetime.datetime.now(datetime.UTC)
        self.admin = hosted.management.admin
        self.server = server or f"https://localhost:{hosted.guest.apiserver.port}"
        self._control_plane()
        request = {
            "apiVersion": API,
            "kind": "HostedWebhook",
            "metadata": {"name": name},
            "spec": {
                "target": {"flavour": "hypershift", "name": "hcp"},
                "tenantId": "11111111-2222-3333-4444-555555555555",
                "url": f"https://127.0.0.1:{self.port}",
                "server": self.server,
                **spec,
            },
        }
        self.admin.create(at("hostedwebhooks", self.namespace, api=API), request).object  # noqa: B018 - raises

    def _control_plane(self) -> None:
        """What HyperShift would have made: its object, and a kubeconfig of an administrator."""
        secrets = self.hosted.secrets
        signer = CertificatePair(*(text(secrets["cluster-signer-ca"], key) for key in ("ca.crt", "ca.key")))
        expected = profile.LeafProfile("admin", organizations=("system:masters",), usages=("clientAuth",))
        pair = profile.issue(signer, expected, self.now)
        message = kubeconfig_text(self.server, text(secrets["root-ca"], "ca.crt"), by_certificate(pair))
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "service-network-admin-kubeconfig", "namespace": self.namespace},
            "data": {"kubeconfig": base64.b64encode(message.encode()).decode()},
        }
        obj = hosted_control_plane(self.namespace)
        path = at("hostedcontrolplanes", self.namespace, "hcp", api="hypershift.openshift.io/v1beta1")
        for where, one in ((path_of(secret), secret), (path, obj)):
            self.admin.apply(where, one, "hypershift", force=True).object  # noqa: B018 - raises

    def look(self, times: int = 1) -> list[Result]:
        """Looks of one process."""

        async def looks(reconciler: HostedReconciler) -> list[Result]:
            return [await reconciler(self.key) for _ in range(times)]

        return self.with_reconciler(looks)

    def with_reconciler(self, work: Callable[[HostedReconciler], Awaitable[T]]) -> T:
        file = self.hosted.management.kubeconfig()

        async def run() -> T:
            client, hosted_clusters = (
                Client(kubeconfig.load([file])),
                ClientPool(guard=AddressGuard(loopback=True)),
            )
            leadership = AlwaysLeader()
            writer = FencedClient(client, leadership)
            parts = HostedReconcilerDeps(
                client,
                writer,
                Applier(client, writer, MANAGER),
                Events(writer, "vestibule.dev/test", "test", lambda: self.now),
                hosted_clusters,
                leadership,
                "vestibule:test",
                lambda: self.now,
            )
            try:
                return await work(HostedReconciler(parts))
            finally:
                await hosted_clusters.close()
                await client.close()
                await closed_sockets.closed()

        return asyncio.run(run())

    def condition(self, kind: str) -> str:
        found = self.admin.get(self.path).object.get("status", {}).get("conditions", [])
        return next((str(one["status"]) for one in found if one["type"] == kind), "")

    def versions(self) -> dict[str, str]:
        """The resourceVersion of everything that is ours or that we look at, in both clusters."""
        near = [("secrets", "v1"), ("services", "v1"), ("deployments", "apps/v1"), ("hostedwebhooks", API)]
        wide = [
            ("clusterroles", "rbac.authorization.k8s.io/v1"),
            ("clusterrolebindings", "rbac.authorization.k8s.io/v1"),
            ("mutatingwebhookconfigurations", "admissionregistration.k8s.io/v1"),
        ]
        found: dict[str, str] = {}
        for plural, api in near:
            for one in self.admin.list(at(plural, self.namespace, api=api)):
                if "Deployment" not in str(one.get("kind")) and one["metadata"].get("name"):
                    found[f"{plural}/{one['metadata']['name']}"] = one["metadata"]["resourceVersion"]
        for plural, api in wide:
            for one in self.hosted.guest.admin.list(at(plural, api=api)):
                found[f"guest {plural}/{one['metadata']['name']}"] = one["metadata"]["resourceVersion"]
        found.pop(f"deployments/{hypershift_webhooks.OURS}", None)  # its own controller writes its status
        return found


REGISTRATION = at(
    "mutatingwebhookconfigurations", name=hypershift_webhooks.OURS, api="admissionregistration.k8s.io/v1"
)


def test_up_in_order_steady_through_the_hosted_clusters_death_and_down(
    hosted: Hosted, kinds: None, hosted_namespace: str, tmp_path: Path
) -> None:
    requested = Asked(hosted, "one")
    guest = hosted.guest

    # nothing answers yet: everything is there but the registration
    (first,) = requested.look()
    assert isinstance(first, RequeueAfter)
    assert first.reason == "NotProven"
    assert guest.admin.get(REGISTRATION).status == 404
    assert (
        guest.admin.get(
            at("clusterroles", name=hypershift_webhooks.OURS, api="rbac.authorization.k8s.io/v1")
        ).status
        == 200
    )
    assert requested.condition("Verified") == "False"
    held = requested.admin.get(requested.path).object["metadata"]["finalizers"]
    assert held == [FINALIZER]

    # the workload runs as it was rendered: proved, and only then registered
    workload = requested.admin.get(
        at("deployments", requested.namespace, hypershift_webhooks.OURS, api="apps/v1")
    ).object
    adjacent = SidecarKubelet(
        tmp_path / "pod", requested.admin, workload, hypershift_webhooks.OURS, 9443, requested.port
    )
    adjacent.start()
    try:
        adjacent.wait_ready()
        (second,) = requested.look()
        assert second == Reconciled()
        assert requested.condition("Verified") == "True"
        wait_served(hosted, hosted_namespace)
        assert mutated(create(hosted, hosted_namespace, CASES[LABELLED], dryRun="All"))

        # a process that starts anew finds nothing to do
        before = requested.versions()
        assert requested.look(2) == [Reconciled(), Reconciled()]
        assert requested.versions() == before

        # drift is taken back, what the guest may choose is kept
        changes: dict[str, object] = {"failurePolicy": "Fail", "timeoutSeconds": 3}
        patch = [
            {"op": "replace", "path": f"/webhooks/0/{key}", "value": value} for key, value in changes.items()
        ]
        guest.admin.patch(REGISTRATION, patch, JSON_PATCH).object  # noqa: B018 - raises
        requested.look()
        entry = guest.admin.get(REGISTRATION).object["webhooks"][0]
        assert (entry["failurePolicy"], entry["timeoutSeconds"]) == ("Ignore", 3)

        # the guest dies and comes back
        before = requested.versions()
        guest.apiserver.kill()
        (dead,) = requested.look()
        assert isinstance(dead, RequeueAfter)
        assert dead.reason == "GuestUnreachable"
        assert requested.condition("GuestReachable") == "False"
        guest.apiserver.start()
        assert requested.look() == [Reconciled()]
        assert requested.condition("GuestReachable") == "True"
        after = requested.versions()
        moved = {key for key in before if before[key] != after.get(key)}
        assert moved == {"hostedwebhooks/one"}
    finally:
        adjacent.stop()

    # down: the guest is cleaned, then our own, then the request goes
    requested.admin.delete(requested.path)
    assert requested.look() == [RequeueAfter(finalize.HEARD, "Unregistered")]
    assert (
        requested.admin.get(at("secrets", requested.namespace, f"{hypershift_webhooks.OURS}-ca")).status
        == 200
    )
    assert requested.look() == [Reconciled(forget=True)]
    assert requested.admin.get(requested.path).status == 404
    assert guest.admin.get(REGISTRATION).status == 404
    assert (
        requested.admin.get(at("secrets", requested.namespace, f"{hypershift_webhooks.OURS}-ca")).status
        == 404
    )
    assert guest.admin.get(at("namespaces", name=serving_certificate.GUEST_NAMESPACE)).status == 200


def test_a_dead_hosted_cluster_is_waited_for_and_then_left_behind(hosted: Hosted, kinds: None) -> None:
    requested = Asked(hosted, "two")
    requested.look()
    hosted.guest.apiserver.kill()
    try:
        requested.admin.delete(requested.path)
        (waiting,) = requested.look()
        assert isinstance(waiting, RequeueAfter)
        assert requested.admin.get(requested.path).status == 200

        requested.now += 2 * teardown.LIMIT
        assert requested.look() == [Reconciled(forget=True)]

        assert requested.admin.get(requested.path).status == 404
        events = requested.admin.list(at("events", requested.namespace, api="events.k8s.io/v1"))
        assert teardown.SKIPPED in [one["reason"] for one in events]
    finally:
        hosted.guest.apiserver.start()
    for plural in ("clusterroles", "clusterrolebindings"):
        path = at(plural, name=hypershift_webhooks.OURS, api="rbac.authorization.k8s.io/v1")
        assert hosted.guest.admin.delete(path).status == 200  # what was left behind
    hosted.guest.admin.delete(
        at("serviceaccounts", serving_certificate.GUEST_NAMESPACE, hypershift_webhooks.OURS)
    )


class Counted:
    """How looks ended, and when."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        del controller, seconds
        self.ended.append(result)


def test_one_hosted_cluster_that_says_nothing_does_not_keep_another_waiting(
    hosted: Hosted, kinds: None
) -> None:
    """With a single worker: a run that takes long does not count as one."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = Asked(hosted, "slow", f"https://127.0.0.1:{silent.getsockname()[1]}")
        quick = Asked(hosted, "quick")

        async def both(reconciler: HostedReconciler) -> tuple[float, float]:
            loop = asyncio.get_running_loop()
            began, ended = loop.time(), dict.fromkeys((slow.key, quick.key), math.inf)
            enough = asyncio.Event()

            async def timed(key: str) -> Result:
                try:
                    return await reconciler(key)
                finally:
                    ended[key] = min(ended[key], loop.time() - began)
                    if max(ended.values()) < math.inf:
                        enough.set()

            queue: Queue[str] = Queue(workers=1, patience=0.5)
            queue.add(slow.key)
            queue.add(quick.key)
            running = asyncio.create_task(Controller("hosted", timed, queue, Counted()).run())
            try:
                async with asyncio.timeout(60):
                    await enough.wait()
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            return ended[slow.key], ended[quick.key]

        slow_took, quick_took = slow.with_reconciler(both)
        assert quick_took < slow_took
        assert slow.condition("GuestReachable") == "False"
        assert quick.condition("GuestReachable") == "True"
    for requested in (slow, quick):
        requested.now += 2 * teardown.LIMIT
        requested.admin.delete(requested.path)
        requested.look(2)
        requested.admin.wait_gone(requested.path)


CLUSTERS = "cluster.x-k8s.io/v1beta1"
KUBEADM = "controlplane.cluster.x-k8s.io/v1beta1"


def kubeadm(hosted: Hosted, namespace: str) -> str:
    """A Cluster with its KubeadmControlPlane and Secrets, as Cluster API leaves them; the path of the
    second, which has a file of somebody else's."""
    admin, secrets = hosted.management.admin, hosted.secrets
    root = {key: text(secrets["root-ca"], key) for key in ("ca.crt", "ca.key")}
    signer = CertificatePair(*(text(secrets["cluster-signer-ca"], key) for key in ("ca.crt", "ca.key")))
    expected = profile.LeafProfile("admin", organizations=("system:masters",), usages=("clientAuth",))
    pair = profile.issue(signer, expected, datetime.datetime.now(datetime.UTC))
    server = f"https://localhost:{hosted.guest.apiserver.port}"
    contents = {
        "c1-kubeconfig": {"value": kubeconfig_text(server, root["ca.crt"], by_certificate(pair))},
        "c1-ca": {"tls.crt": root["ca.crt"], "tls.key": root["ca.key"]},
    }
    for name, content in contents.items():
        data = {key: base64.b64encode(value.encode()).decode() for key, value in content.items()}
        admin.create(at("secrets", namespace), {"metadata": {"name": name}, "data": data}).object  # noqa: B018
    template = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "X", "name": "x"}
    plane = {
        "apiVersion": KUBEADM,
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "c1-control-plane"},
        "spec": {
            "version": "v1.36.3",
            "machineTemplate": {"infrastructureRef": template},
            "kubeadmConfigSpec": {"files": [{"path": "/etc/theirs", "content": "x"}]},
        },
    }
    admin.create(at("kubeadmcontrolplanes", namespace, api=KUBEADM), plane).object  # noqa: B018 - raises
    reference = {"apiVersion": KUBEADM, "kind": "KubeadmControlPlane", "name": "c1-control-plane"}
    spec = {"controlPlaneRef": reference}
    cluster = {"apiVersion": CLUSTERS, "kind": "Cluster", "metadata": {"name": "c1"}, "spec": spec}
    admin.create(at("clusters", namespace, api=CLUSTERS), cluster).object  # noqa: B018 - raises
    return at("kubeadmcontrolplanes", namespace, "c1-control-plane", api=KUBEADM)


def test_a_static_pod_goes_through_the_files_of_the_kubeadm_control_plane(
    hosted: Hosted, kinds: None
) -> None:
    """Beside everybody else's, once, and away again; by a client certificate, since nobody renews files."""
    namespace = hosted.control_plane["metadata"]["namespace"]
    path = kubeadm(hosted, namespace)
    target = {"flavour": "clusterapi", "name": "c1"}
    requested = Asked(hosted, "static", target=target, attach="static-pod")
    (first,) = requested.look()
    # no machine runs it here, as a pod that was tried in the guest found out
    assert isinstance(first, RequeueAfter)
    assert first.reason == "NotProven"
    assert requested.condition("Available") == "False"
    assert requested.condition("Verified") == "False"
    files = requested.admin.get(path).object["spec"]["kubeadmConfigSpec"]["files"]
    paths = [one["path"] for one in files]
    assert paths[0] == "/etc/theirs"
    assert f"/etc/kubernetes/manifests/{hypershift_webhooks.OURS}.yaml" in paths
    sources = {one["contentFrom"]["secret"]["name"] for one in files if "contentFrom" in one}
    assert sources == {
        f"{hypershift_webhooks.OURS}-c1-serving-cert",
        f"{hypershift_webhooks.OURS}-c1-kubeconfig",
    }
    secret = requested.admin.get(at("secrets", namespace, f"{hypershift_webhooks.OURS}-c1-kubeconfig")).object
    assert "tls.crt" in secret["data"]
    assert "token" not in secret["data"]
    before = requested.admin.get(path).object["metadata"]["resourceVersion"]
    requested.look(2)
    assert requested.admin.get(path).object["metadata"]["resourceVersion"] == before

    requested.admin.delete(requested.path)
    assert requested.look(2)[1] == Reconciled(forget=True)
    files = requested.admin.get(path).object["spec"]["kubeadmConfigSpec"]["files"]
    assert [one["path"] for one in files] == ["/etc/theirs"]
    assert hosted.guest.admin.get(REGISTRATION).status == 404


def test_when_the_control_plane_brings_its_own_webhook_ours_goes(
    hosted: Hosted, kinds: None, tmp_path: Path
) -> None:
    """An upgrade of HyperShift: first its container, then its registration; never two, never none."""
    requested = Asked(hosted, "upgraded")
    requested.look()
    workload = requested.admin.get(
        at("deployments", requested.namespace, hypershift_webhooks.OURS, api="apps/v1")
    ).object
    adjacent = SidecarKubelet(
        tmp_path / "pod", requested.admin, workload, hypershift_webhooks.OURS, 9443, requested.port
    )
    adjacent.start()
    runs = _deployment(hosted.control_plane)
    theirs = guest_objects.configuration(guest_objects.hypershift(hypershift_webhooks.AZURE, "CA"))
    try:
        adjacent.wait_ready()
        assert requested.look() == [Reconciled()]
        runs["spec"]["template"]["spec"]["containers"].append(
            {"name": hypershift_webhooks.AZURE.name, "image": "x"}
        )
        requested.admin.apply(path_of(runs), runs, "hypershift", force=True).object  # noqa: B018 - raises
        assert requested.look() == [Reconciled()]
        assert requested.condition("Available") == "False"
        assert hosted.guest.admin.get(REGISTRATION).status == 200
        theirs["webhooks"][0]["clientConfig"].pop("caBundle")
        hosted.guest.admin.apply(path_of(theirs), theirs, "hcco", force=True).object  # noqa: B018 - raises
        assert requested.look(2) == [RequeueAfter(finalize.HEARD, "Unregistered"), Reconciled()]
        assert requested.condition("Available") == "True"
        assert hosted.guest.admin.get(REGISTRATION).status == 404
        assert (
            requested.admin.get(at("secrets", requested.namespace, f"{hypershift_webhooks.OURS}-ca")).status
            == 404
        )
    finally:
        adjacent.stop()
        for admin, obj in ((hosted.guest.admin, theirs), (requested.admin, runs)):
            admin.delete(path_of(obj))
        requested.admin.delete(requested.path)
        requested.look(2)
