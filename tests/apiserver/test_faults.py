"""What clusters do to us: the API server dies, hangs, forgets, lies, takes rights away. Caches heal."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.webhook_installation import Replica, WebhookInstallation
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.faultproxy import FaultProxy
from tests.rig.faults import Status, Truncate
from tests.rig.fixtures import Planes
from tests.vectors import case

pytestmark = pytest.mark.waits

Json = dict[str, Any]
ACCOUNTS = 30
NOTICED = 30.0
"""Seconds until a hang is known; a watch lives for 24 at most."""


def until(condition: Callable[[], object], what: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not in {seconds} s: {what}"
        time.sleep(0.05)


def account(plane: ControlPlane, namespace: str, name: str, role: str = "app") -> None:
    annotations = {
        "cwii.dev/aws-inject": "true",
        "cwii.dev/aws-role-arn": f"arn:aws:iam::123456789012:role/{role}",
    }
    obj = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "annotations": annotations},
    }
    plane.admin.apply(at("serviceaccounts", namespace, name), obj, "test", force=True).object  # noqa: B018


def ask(installation: WebhookInstallation, replica: Replica, namespace: str, name: str) -> tuple[int, str]:
    """One review, straight to the replica: the status and the role the pod would get."""
    import base64
    import http.client
    import json

    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace},
        "spec": {"serviceAccountName": name, "containers": [{"name": "a"}]},
    }
    to = http.client.HTTPSConnection("127.0.0.1", replica.port, context=installation.tls(), timeout=10)
    with contextlib.closing(to):
        body = case.review(pod, namespace=namespace)
        to.request("POST", "/mutate?timeout=4s", body, {"Content-Type": "application/json"})
        response = to.getresponse()
        text = response.read()
    if response.status != 200:
        return response.status, response.getheader("Retry-After") or ""
    answer = json.loads(text)["response"]
    patch = base64.b64decode(answer.get("patch", "")).decode()
    return 200, patch.partition("role/")[2].partition('"')[0]


@contextlib.contextmanager
def behind(
    plane: ControlPlane, folder: Path, name: str
) -> Iterator[tuple[WebhookInstallation, Replica, FaultProxy]]:
    """A replica that reaches the API server only through a proxy that can fail."""
    installation = WebhookInstallation(plane, folder, name)
    with plane.proxy(installation.user, ()) as proxy:
        installation.kubeconfig = plane.kubeconfig(installation.user, url=proxy.url)
        try:
            installation.apply("Namespace", "ClusterRole", "ClusterRoleBinding")
            yield installation, installation.start(), proxy
        finally:
            installation.close()


def cached(replica: Replica, resource: str = "serviceaccounts") -> float:
    return replica.metric("vestibule_cache_cached", f'resource="{resource}"')


def listed(plane: ControlPlane) -> int:
    return len(plane.admin.list(at("serviceaccounts")))


def test_a_killed_api_server_is_heard_again_and_the_cache_equals_a_fresh_list(
    private_control_plane: Planes, tmp_path: Path
) -> None:
    plane = private_control_plane(controllers=False)
    namespace = plane.namespace("killed")
    for number in range(ACCOUNTS):
        account(plane, namespace, f"app-{number}")
    installation = WebhookInstallation(plane, tmp_path, "webhook-killed")
    try:
        installation.apply("Namespace", "ClusterRole", "ClusterRoleBinding")
        replica = installation.start()
        until(lambda: cached(replica) == listed(plane), "the first list")
        for _ in range(3):
            plane.apiserver.kill()
            assert ask(installation, replica, namespace, "app-1") == (200, "app")  # cached answers go on
            assert (
                ask(installation, replica, namespace, "new")[0] == 503
            )  # what is not known is a fault, not "nothing"
            plane.apiserver.start()
            plane.admin.delete(at("serviceaccounts", namespace, "app-0"))
            account(plane, namespace, "app-1", "changed")
            until(
                lambda: ask(installation, replica, namespace, "app-1") == (200, "changed"), "the change", 20
            )
            until(lambda: cached(replica) == listed(plane), "equality", 20)
            account(plane, namespace, "app-0")
            account(plane, namespace, "app-1")
            until(
                lambda: ask(installation, replica, namespace, "app-1") == (200, "app"), "the change back", 20
            )
    finally:
        installation.close()


def test_a_version_that_is_too_old_means_a_new_list_that_misses_no_deletion(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    gone = (
        b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
        b'"message":"too old resource version","reason":"Expired","code":410}}\n'
    )
    with behind(control_plane, tmp_path, "webhook-gone") as (installation, replica, proxy):
        account(control_plane, namespace, "stays")
        account(control_plane, namespace, "goes")
        until(lambda: ask(installation, replica, namespace, "goes") == (200, "app"), "the account")
        before = replica.metric("vestibule_cache_lists", 'resource="serviceaccounts"')
        with proxy.fault(Status(503), path="watch=true"):
            proxy.cut()
            control_plane.admin.delete(at("serviceaccounts", namespace, "goes"))
        with proxy.fault(Status(200, gone), path="serviceaccounts.*watch=true", times=1):
            until(
                lambda: replica.metric("vestibule_cache_lists", 'resource="serviceaccounts"') > before,
                "a new list",
            )

        until(lambda: cached(replica) == listed(control_plane), "equality")
        assert ask(installation, replica, namespace, "goes") == (200, "")
        assert ask(installation, replica, namespace, "stays") == (200, "app")


def test_cut_and_truncated_answers_are_no_objects(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with behind(control_plane, tmp_path, "webhook-cut-answers") as (installation, replica, proxy):
        account(control_plane, namespace, "app")
        proxy.inject(Truncate(200), path="limit=500", times=5)
        proxy.inject(Truncate(40), path="watch=true", times=5)
        proxy.cut()

        for number in range(10):
            account(control_plane, namespace, "app", f"v{number}")
            newest = (200, f"v{number}")

            def is_newest(expected: tuple[int, str] = newest) -> bool:
                return ask(installation, replica, namespace, "app") == expected

            until(is_newest, "the newest")
        until(lambda: cached(replica) == listed(control_plane), "equality")


def test_permissions_that_are_taken_away_are_said_and_the_cache_goes_on(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with behind(control_plane, tmp_path, "webhook-rights") as (installation, replica, proxy):
        account(control_plane, namespace, "app")
        until(lambda: ask(installation, replica, namespace, "app") == (200, "app"), "the account")
        role = at("clusterroles", name="webhook-rights", api="rbac.authorization.k8s.io/v1")
        control_plane.admin.patch(role, {"rules": []}).object  # noqa: B018 - raises
        proxy.cut()

        until(lambda: "forbidden" in replica.log.read_text(), "the reason in the log")
        assert ask(installation, replica, namespace, "app") == (200, "app")
        assert (
            ask(installation, replica, namespace, "unknown")[0] == 500
        )  # a human must act; retrying helps nobody

        installation.apply("ClusterRole")
        until(lambda: "API server heard again" in replica.log.read_text(), "the recovery")
        assert ask(installation, replica, namespace, "unknown")[0] == 200


def test_we_start_before_the_api_server_does(private_control_plane: Planes, tmp_path: Path) -> None:
    plane = private_control_plane(controllers=False)
    namespace = plane.namespace("early")
    account(plane, namespace, "app")
    installation = WebhookInstallation(plane, tmp_path, "webhook-early")
    installation.apply("Namespace", "ClusterRole", "ClusterRoleBinding")
    plane.apiserver.kill()
    replica = Replica(
        tmp_path / "early", installation.kubeconfig, installation.settings_file, installation.folder / "tls"
    )
    installation.replicas.append(replica)
    try:
        until(lambda: "serving https" in replica.log.read_text(), "the start")
        assert not replica.ready()
        assert "not listed yet" in replica.get("/readyz")[1]
        assert ask(installation, replica, namespace, "app") == (503, "1")

        plane.apiserver.start()
        replica.wait_ready()
        assert ask(installation, replica, namespace, "app") == (200, "app")
    finally:
        installation.close()


@pytest.mark.slow
def test_a_hanging_api_server_is_noticed(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    with behind(control_plane, tmp_path, "webhook-hang") as (installation, replica, proxy):
        account(control_plane, namespace, "app")
        until(lambda: ask(installation, replica, namespace, "app") == (200, "app"), "the account")
        with proxy.stalled():
            began = time.monotonic()
            assert ask(installation, replica, namespace, "app") == (200, "app")
            assert ask(installation, replica, namespace, "unknown")[0] == 503
            assert time.monotonic() - began < 4
            until(lambda: "silent" in replica.log.read_text(), "the silence to be noticed", NOTICED)
        account(control_plane, namespace, "late")
        until(lambda: ask(installation, replica, namespace, "late") == (200, "app"), "the recovery")


@pytest.mark.slow
def test_a_frozen_api_server_shows_in_the_metrics_and_then_in_the_readiness(
    private_control_plane: Planes, tmp_path: Path
) -> None:
    plane = private_control_plane(controllers=False)
    namespace = plane.namespace("frozen")
    account(plane, namespace, "app")
    installation = WebhookInstallation(plane, tmp_path, "webhook-frozen")

    def lost(resource: str) -> float:
        return replica.metric("vestibule_cache_lost_seconds", f'resource="{resource}"')

    try:
        installation.apply("Namespace", "ClusterRole", "ClusterRoleBinding")
        replica = installation.start()
        until(lambda: ask(installation, replica, namespace, "app") == (200, "app"), "the account")
        assert (lost("serviceaccounts"), lost("namespaces")) == (0, 0)
        plane.apiserver.freeze()
        began = time.monotonic()
        try:
            until(lambda: lost("serviceaccounts") and lost("namespaces"), "the metrics", NOTICED)
            assert replica.ready()  # a minute is allowed: a restart takes less, and nobody else knows better
            until(lambda: not replica.ready(), "the readiness", 60 - (time.monotonic() - began) + 10)
            assert "not watched for" in replica.get("/readyz")[1]
            assert ask(installation, replica, namespace, "app") == (200, "app")
        finally:
            plane.apiserver.thaw()
        until(lambda: lost("serviceaccounts") == lost("namespaces") == 0, "the metrics to heal")
        assert replica.ready()
    finally:
        installation.close()
