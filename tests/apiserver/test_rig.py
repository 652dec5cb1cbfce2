"""The rig itself: it boots, behaves as the facts say, can be broken on purpose, leaves nothing behind."""

from __future__ import annotations

import base64
import contextlib
import http.client
import http.server
import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.rig import audit, catalogue, fixtures, guard, hosted_cluster, process
from tests.rig.client import JSON_PATCH, Client, Object, Refused, at
from tests.rig.controlplane import ControlPlane
from tests.rig.etcd import Etcd
from tests.rig.faultproxy import FaultProxy
from tests.rig.faults import Cut, Delay, Script, Stale, Status, Truncate
from tests.rig.fixtures import Planes
from tests.rig.hosted_cluster import Pair
from tests.rig.process import Failed, Process

pytestmark = pytest.mark.rig

ROOT = Path(__file__).resolve().parents[2]
WIRE = (ConnectionError, http.client.HTTPException, ssl.SSLError)


def pod(name: str = "app", **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "main", "image": "example.test/app"}]},
    }


def config(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def until_gone(pids: list[int]) -> None:
    process.wait(f"{pids} to end", lambda: not any(guard.birth(pid) for pid in pids), 10)


# boot


class Harmed(NamedTuple):
    """A control plane whose parts may be killed, frozen and stopped, and the seconds that its boot took."""

    plane: ControlPlane
    boot: float


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harmed]:
    plane = ControlPlane(tmp_path_factory.mktemp("harmed"), version=fixtures.VERSION)
    began = time.monotonic()
    with plane:
        yield Harmed(plane, time.monotonic() - began)


@pytest.fixture
def harmed(booted: Harmed) -> Harmed:
    """Whole again, whatever was done to it."""
    parts = booted.plane.parts
    for part in parts:
        if part.process.alive():
            part.process.thaw()
    if not all(part.process.alive() for part in parts):
        booted.plane.stop()
        booted.plane.start()
    return booted


def test_a_control_plane_boots_in_seconds(harmed: Harmed) -> None:
    plane = harmed.plane

    # about 3 s on two quiet cores; 6 s were seen with two builds beside it
    assert harmed.boot < 20
    assert plane.admin.get("/readyz").body == b"ok"
    assert plane.admin.get("/version").object["gitVersion"] == plane.version


def test_a_namespace_gets_its_serviceaccount_and_the_root_ca(
    control_plane: ControlPlane, namespace: str
) -> None:
    admin = control_plane.admin

    assert admin.get(at("serviceaccounts", namespace, "default")).status == 200
    published = admin.wait(at("configmaps", namespace, "kube-root-ca.crt"))
    assert published["data"]["ca.crt"].encode() == control_plane.authority.pem


def test_a_pod_is_created_dry_and_for_real(control_plane: ControlPlane, namespace: str) -> None:
    pods, admin = at("pods", namespace), control_plane.admin

    assert admin.create(pods, pod(), dryRun="All").status == 201
    assert admin.list(pods) == []
    assert admin.create(pods, pod()).object["spec"]["serviceAccountName"] == "default"
    assert [item["metadata"]["name"] for item in admin.list(pods)] == ["app"]


def test_a_deployment_runs_and_a_job_ends_on_a_fake_node(private_control_plane: Planes) -> None:
    plane = private_control_plane(scheduler=True, nodes=True)
    plane.node()
    space = plane.namespace()
    spec = {"containers": [{"name": "main", "image": "example.test/app"}]}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    deployment = {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    job = {"template": {"spec": {**spec, "restartPolicy": "Never"}}}

    for resource, api, content in (("deployments", "apps/v1", deployment), ("jobs", "batch/v1", job)):
        created = plane.admin.create(
            at(resource, space, api=api), {"metadata": {"name": "a"}, "spec": content}
        )
        assert created.status == 201, created.message

    running = plane.admin.wait(
        at("deployments", space, "a", api="apps/v1"), lambda o: o["status"].get("readyReplicas") == 3
    )
    done = plane.admin.wait(
        at("jobs", space, "a", api="batch/v1"), lambda o: o["status"].get("succeeded") == 1
    )
    assert (running["metadata"]["name"], done["metadata"]["name"]) == ("a", "a")


# users


def test_users_are_who_their_certificates_say(control_plane: ControlPlane) -> None:
    user = control_plane.client("jane", ["team-a", "team-b"])
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = at("selfsubjectreviews", api="authentication.k8s.io/v1")

    who = user.create(path, review).object["status"]["userInfo"]

    assert (who["username"], who["groups"]) == ("jane", ["team-a", "team-b", "system:authenticated"])
    refused = user.get(at("pods", "default"))
    assert refused.status == 403
    assert 'User "jane" cannot list resource "pods"' in refused.message
    with pytest.raises(Refused, match="GET /api/v1/namespaces/default/pods: 403 "):
        user.list(at("pods", "default"))


@pytest.mark.parametrize("embed", [True, False])
def test_a_kubeconfig_holds_or_names_its_certificates(control_plane: ControlPlane, embed: bool) -> None:
    path = control_plane.kubeconfig("jane", ["team-a"], embed=embed)
    content = yaml.safe_load(path.read_text())
    user, cluster = content["users"][0]["user"], content["clusters"][0]["cluster"]

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert cluster["server"] == control_plane.url
    if embed:
        assert base64.b64decode(cluster["certificate-authority-data"]) == control_plane.authority.pem
        assert set(user) == {"client-certificate-data", "client-key-data"}
    else:
        assert stat.S_IMODE(Path(user["client-key"]).stat().st_mode) == 0o600


def test_every_kind_of_patch_and_apply(control_plane: ControlPlane, namespace: str) -> None:
    admin, path = control_plane.admin, at("configmaps", namespace, "c")

    assert admin.apply(path, config("c", a="1"), manager="one").status == 201
    assert admin.apply(path, config("c", a="2"), manager="two").status == 409
    assert admin.apply(path, config("c", a="2"), manager="two", force=True).status == 200
    admin.patch(path, {"data": {"b": "3"}})
    admin.patch(path, [{"op": "add", "path": "/data/c", "value": "4"}], JSON_PATCH)
    assert admin.get(path).object["data"] == {"a": "2", "b": "3", "c": "4"}
    assert admin.delete(path).status == 200
    admin.wait_gone(path)


# a webhook


class Hook:
    """A tiny HTTPS server that answers reviews and keeps what it was asked."""

    def __init__(self, plane: ControlPlane) -> None:
        self.patch: list[Object] = []
        self.asked: list[tuple[str, dict[str, str], Object]] = []
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                hook.asked.append((f"{self.path} {self.request_version}", dict(self.headers), review))
                answer = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch"}
                answer["patch"] = base64.b64encode(json.dumps(hook.patch).encode()).decode()
                answer["warnings"] = ["the hook was here"]
                body = json.dumps({**review, "response": answer}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.socket = plane.authority.serving("hook").wrap_socket(
            self._server.socket, server_side=True
        )
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()


@pytest.fixture
def hook(control_plane: ControlPlane) -> Iterator[Hook]:
    hook = Hook(control_plane)
    yield hook
    hook.stop()


Register = Callable[..., None]


@pytest.fixture
def register(control_plane: ControlPlane, namespace: str) -> Iterator[Register]:
    """Registers a webhook for pods of the test's namespace and waits until it is called."""
    path = at("mutatingwebhookconfigurations", name=namespace, api="admissionregistration.k8s.io/v1")

    def start(hook: Hook, url: str, policy: str = "Fail") -> None:
        webhook = {
            "name": "hook.rig.test",
            "clientConfig": {
                "url": url,
                "caBundle": base64.b64encode(control_plane.authority.pem).decode(),
            },
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
            ],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 5,
            "failurePolicy": policy,
        }
        item = {"metadata": {"name": namespace}, "webhooks": [webhook]}
        created = control_plane.admin.create(path.rpartition("/")[0], item)
        assert created.status == 201, created.message

        def called() -> bool:
            control_plane.admin.create(at("pods", namespace), pod("probe"), dryRun="All")
            return bool(hook.asked)

        process.wait("the webhook to be called", called, 10)
        hook.asked.clear()

    yield start
    control_plane.admin.delete(path)


def test_a_webhook_is_called_its_patch_applied_and_audited(
    control_plane: ControlPlane, namespace: str, hook: Hook, register: Register
) -> None:
    hook.patch = [{"op": "add", "path": "/metadata/labels", "value": {"hook": "yes"}}]
    register(hook, f"{hook.url}/mutate")

    answer = control_plane.admin.create(at("pods", namespace), pod())

    assert answer.object["metadata"]["labels"] == {"hook": "yes"}
    assert answer.warnings == ["the hook was here"]
    (line, headers, review) = hook.asked[0]
    assert line == "/mutate?timeout=5s HTTP/1.1"
    assert headers["User-Agent"] == "kube-apiserver-admission"
    assert review["request"]["userInfo"]["username"] == "rig:admin"
    event = control_plane.audit.wait(namespace=namespace, resource="pods", name="app", verb="create")
    assert [(call["webhook"], call["mutated"], call["failed_open"]) for call in audit.webhooks(event)] == [
        ("hook.rig.test", True, False)
    ]


def test_a_patch_that_does_not_apply_fails_even_under_ignore(
    control_plane: ControlPlane, namespace: str, hook: Hook, register: Register
) -> None:
    register(hook, hook.url, policy="Ignore")
    hook.patch = [{"op": "remove", "path": "/spec/nothing"}]

    assert control_plane.admin.create(at("pods", namespace), pod()).status == 500


def test_faults_between_the_api_server_and_a_webhook(
    control_plane: ControlPlane, namespace: str, hook: Hook, register: Register
) -> None:
    authority, admin = control_plane.authority, control_plane.admin
    hook.patch = [{"op": "add", "path": "/metadata/labels", "value": {"hook": "yes"}}]
    serving, calling = authority.serving("proxy"), authority.trusting()
    with FaultProxy(hook.url, serving=serving, calling=calling) as proxy:
        register(hook, f"{proxy.url}/mutate")

        busy = proxy.inject(Status(429, headers={"Retry-After": "1"}), times=1)
        answer = admin.create(at("pods", namespace), pod("retried"))
        assert (answer.object["metadata"]["labels"], busy.hits) == ({"hook": "yes"}, 1)

        proxy.inject(Cut(after=True), times=1)
        assert admin.create(at("pods", namespace), pod("cut")).status == 500

        with proxy.refusing():
            refused = admin.create(at("pods", namespace), pod("refused"))
        assert (refused.status, "connection refused" in refused.message) == (500, True)
        assert admin.create(at("pods", namespace), pod("after")).status == 201


# faults before the API server


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultProxy]:
    with control_plane.proxy(seed=1) as proxy:
        yield proxy


@pytest.fixture
def through(control_plane: ControlPlane, proxy: FaultProxy) -> Iterator[Client]:
    """A client that shows no certificate: the proxy has one."""
    client = Client(proxy.url, control_plane.authority.trusting(), timeout=5)
    yield client
    client.close()


def test_without_a_fault_the_proxy_is_not_noticed(
    control_plane: ControlPlane, namespace: str, through: Client, proxy: FaultProxy
) -> None:
    path = at("configmaps", namespace)
    large = "x" * 700_000

    assert through.create(path, config("c", large=large)).status == 201
    assert through.get(f"{path}/c").object == control_plane.admin.get(f"{path}/c").object
    assert through.raw("HEAD", "/readyz").status in (200, 405)
    assert through.get(f"{path}/none").status == 404
    assert [(call.method, call.fault, call.status) for call in proxy.seen][:2] == [
        ("POST", None, 201),
        ("GET", None, 200),
    ]


def test_delay_makes_the_call_late_or_its_answer(
    control_plane: ControlPlane, namespace: str, proxy: FaultProxy
) -> None:
    path = at("configmaps", namespace)
    hasty = Client(proxy.url, control_plane.authority.trusting(), timeout=0.5)
    with proxy.fault(Delay(0.3)):
        began = time.monotonic()
        assert hasty.get(path).status == 200
        assert time.monotonic() - began >= 0.3
    for name, after in (("unseen", False), ("done", True)):
        with proxy.fault(Delay(30, after=after)), pytest.raises(TimeoutError):
            hasty.create(path, config(name))
    hasty.close()

    control_plane.admin.wait(f"{path}/done")
    assert control_plane.admin.get(f"{path}/unseen").status == 404


def test_cut_before_and_after_the_server_saw_the_call(
    control_plane: ControlPlane, namespace: str, through: Client, proxy: FaultProxy
) -> None:
    path = at("configmaps", namespace)
    for name, fault in (("unseen", Cut()), ("done", Cut(after=True))):
        with proxy.fault(fault), pytest.raises(WIRE):
            through.create(path, config(name))

    assert control_plane.admin.get(f"{path}/unseen").status == 404
    assert control_plane.admin.get(f"{path}/done").status == 200


def test_truncate_ends_an_answer_early(through: Client, proxy: FaultProxy) -> None:
    with proxy.fault(Truncate(100)), pytest.raises(http.client.IncompleteRead) as caught:
        through.get(at("namespaces"))

    assert len(caught.value.partial) <= 100
    assert through.get(at("namespaces")).status == 200


def test_status_answers_for_the_server(through: Client, proxy: FaultProxy) -> None:
    proxy.inject(Status(429, b"later", {"Retry-After": "1"}), method="GET", path="/namespaces$", times=2)

    responses = [through.get(at("namespaces")) for _ in range(3)]

    assert [answer.status for answer in responses] == [429, 429, 200]
    assert (responses[0].headers["Retry-After"], responses[0].body) == ("1", b"later")


def test_stale_answers_as_the_server_last_did(
    control_plane: ControlPlane, namespace: str, through: Client, proxy: FaultProxy
) -> None:
    path = at("configmaps", namespace)
    through.create(path, config("c", value="old"))
    with proxy.fault(Stale()):
        first = through.get(f"{path}/c").object["data"]
        control_plane.admin.patch(f"{path}/c", {"data": {"value": "new"}})
        second = through.get(f"{path}/c").object["data"]

    assert (first, second) == ({"value": "old"}, {"value": "old"})
    assert through.get(f"{path}/c").object["data"] == {"value": "new"}


def test_refused_connections(through: Client, proxy: FaultProxy) -> None:
    assert through.get("/readyz").status == 200
    with proxy.refusing(), pytest.raises(ConnectionRefusedError):
        through.get("/readyz")

    assert through.get("/readyz").status == 200


def test_a_watch_is_stalled_then_cut(control_plane: ControlPlane, namespace: str, proxy: FaultProxy) -> None:
    place = at("configmaps", namespace)
    version = control_plane.admin.get(place).object["metadata"]["resourceVersion"]
    context = control_plane.authority.trusting()
    to = http.client.HTTPSConnection("127.0.0.1", proxy.port, timeout=1, context=context)
    with contextlib.closing(to):
        to.request("GET", f"{place}?watch=true&resourceVersion={version}")
        response = to.getresponse()
        with proxy.stalled():
            control_plane.admin.create(place, config("while-stalled"))
            with pytest.raises(TimeoutError):
                response.read1()
        assert proxy.cut() == 1
    process.wait("the watch to be over", lambda: proxy.cut() == 0, 5)


def test_a_script_is_the_same_for_the_same_seed() -> None:
    def strikes(seed: int) -> list[bool]:
        script = Script(seed)
        script.add(Cut(), None, "", None, 0.3)
        return [script.pick("GET", "/") is not None for _ in range(200)]

    assert strikes(7) == strikes(7) != strikes(8)
    assert 30 < sum(strikes(7)) < 90


def test_bytes_pass_unopened_and_can_be_late_cut_and_truncated(control_plane: ControlPlane) -> None:
    with FaultProxy.opaque(control_plane.url) as proxy:
        # the certificate of the user reaches the server itself
        user = control_plane.client("jane", url=proxy.url)
        assert 'User "jane"' in user.get(at("pods", "default")).message
        user.close()
        for fault in (Cut(), Cut(after=True), Truncate(600)):
            with proxy.fault(fault), pytest.raises((*WIRE, OSError)):
                user.get("/readyz")
        with proxy.fault(Delay(0.2)):
            began = time.monotonic()
            assert user.get("/readyz").status == 200
            assert time.monotonic() - began >= 0.4
        with pytest.raises(ValueError, match="Stale needs a proxy that reads HTTP"):
            proxy.inject(Stale())
        user.close()


def test_faults_between_the_api_server_and_etcd(private_control_plane: Planes) -> None:
    proxies: list[FaultProxy] = []

    def before(etcd: Etcd) -> str:
        proxies.append(FaultProxy.opaque(etcd.url).start())
        return proxies[0].url

    plane = private_control_plane(controllers=False, etcd_url=before)
    (proxy,) = proxies
    try:
        assert plane.admin.create(at("configmaps", "default"), config("before")).status == 201
        with proxy.refusing():
            process.wait("the API server to notice", lambda: not plane.apiserver.ready(), 30)
        process.wait("the API server to recover", plane.apiserver.ready, 30)
        assert plane.admin.get(at("configmaps", "default", "before")).status == 200
    finally:
        plane.stop()
        proxy.stop()


# two clusters


def test_hosted_cluster_and_management_are_strangers(hosted_pair: Pair) -> None:
    management, hosted = hosted_pair
    space = management.namespace("only-here")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    created = management.admin.create(at("serviceaccounts", space, "default", "token"), request)
    token = created.object["status"]["token"]
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    statuses = []
    for plane in hosted_pair:
        client = plane.token_client(token)
        statuses.append(client.get(at("pods", "default")).status)
        client.close()

    assert claims["iss"] == management.apiserver.issuer != hosted.apiserver.issuer
    assert statuses == [403, 401]
    assert hosted.admin.get(at("namespaces", name=space)).status == 404
    assert hosted.admin.create(at("pods", "default"), pod(), dryRun="All").status == 201
    stranger = Client(hosted.url, management.authority.trusting())
    with pytest.raises(ssl.SSLCertVerificationError):
        stranger.get("/readyz")
    stranger.close()


def test_a_pair_boots_at_the_same_time(tmp_path: Path) -> None:
    began = time.monotonic()
    pair = hosted_cluster.management_and_hosted(tmp_path, version=fixtures.VERSION)
    seconds = time.monotonic() - began
    pids = [part.process.pid for plane in pair for part in plane.parts]
    pair.stop()

    assert seconds < 30
    assert len(pids) == 4
    until_gone(pids)


# harm


def test_data_survives_kill_nine_of_the_api_server_and_of_etcd(harmed: Harmed) -> None:
    plane = harmed.plane
    path = at("configmaps", "default", "kept")
    plane.admin.create(path.rpartition("/")[0], config("kept", a="1"))

    plane.apiserver.kill()
    with pytest.raises(ConnectionError):
        plane.admin.get(path)
    plane.apiserver.start()
    assert plane.admin.get(path).object["data"] == {"a": "1"}

    plane.etcd.kill()
    plane.etcd.start()
    process.wait("the API server to find etcd", plane.apiserver.ready, 30)
    assert plane.admin.get(path).object["data"] == {"a": "1"}
    assert plane.controllers is not None
    plane.controllers.restart()
    assert plane.namespace().startswith("test-")


def test_a_frozen_api_server_keeps_silent_and_goes_on_later(harmed: Harmed) -> None:
    plane = harmed.plane
    hasty = Client(plane.url, plane.authority.trusting(), timeout=0.5)
    plane.apiserver.freeze()
    with pytest.raises(TimeoutError):
        hasty.get("/readyz")
    plane.apiserver.thaw()
    hasty.close()

    assert plane.admin.get("/readyz").status == 200


def test_a_watch_from_before_a_compaction_is_reported(private_control_plane: Planes) -> None:
    # without its watch cache the API server asks etcd for every watch
    plane = private_control_plane(controllers=False, flags={"watch-cache": "false"})
    path = at("configmaps", "default")
    version = plane.admin.get(path).object["metadata"]["resourceVersion"]
    for number in range(3):
        plane.admin.create(path, config(f"c{number}"))
    plane.etcd.compact()

    reported = plane.admin.get(path, watch=True, resourceVersion=version, timeoutSeconds=5)

    assert reported.status == 410 or reported.json["object"]["code"] == 410


def test_a_port_that_was_taken_in_between_is_drawn_again(tmp_path: Path, control_plane: ControlPlane) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        drawn = iter([other.getsockname()[1]])
        binary = control_plane.etcd.binary
        etcd = Etcd(binary, tmp_path, draw=lambda: next(drawn, 0) or process.free_port())
        etcd.start()
        taken = other.getsockname()[1]
        etcd.stop()

    assert taken not in etcd.ports
    assert "address already in use" in etcd.process.log.read_text()


def test_a_part_that_cannot_start_shows_its_log(tmp_path: Path, control_plane: ControlPlane) -> None:
    plane = ControlPlane(tmp_path, version=control_plane.version, flags={"no-such-flag": "1"})
    with pytest.raises(Failed, match=r"kube-apiserver ended with code 1(.|\n)*unknown flag(.|\n)*log: "):
        plane.start()

    assert not any(part.process.alive() for part in plane.parts)


# the end


def test_stop_leaves_no_process_behind(harmed: Harmed) -> None:
    plane = harmed.plane
    pids = [part.process.pid for part in plane.parts]
    assert all(map(guard.birth, pids))

    plane.stop()

    assert [guard.birth(pid) for pid in pids] == ["", "", ""]


def test_a_frozen_program_that_ignores_sigterm_is_ended_all_the_same(tmp_path: Path) -> None:
    stubborn = Process("stubborn", tmp_path / "log")
    stubborn.start(
        [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"]
    )
    time.sleep(0.2)
    stubborn.freeze()

    stubborn.stop(seconds=0.5)

    assert stubborn.code == -signal.SIGKILL


def test_parts_end_when_the_test_process_is_killed(tmp_path: Path, control_plane: ControlPlane) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tests.rig.controlplane import ControlPlane; "
        f"plane = ControlPlane(Path(sys.argv[1]), version={control_plane.version!r}).start(); "
        "print(*(part.process.pid for part in plane.parts), flush=True); time.sleep(120)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "plane")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:
        try:
            assert victim.stdout is not None
            pids = [int(word) for word in victim.stdout.readline().split()]
            assert len(pids) == 3
            assert all(map(guard.birth, pids))
        finally:
            victim.kill()

    until_gone(pids)


def test_people_get_one_that_stays_until_it_is_sent_away(tmp_path: Path, control_plane: ControlPlane) -> None:
    # the real binaries below a cache of the test's own
    real = catalogue.cache() / "rig"
    (tmp_path / "vestibule" / "rig").mkdir(parents=True)
    for version in {binary.version for binary in catalogue.BINARIES[control_plane.version].values()}:
        (tmp_path / "vestibule" / "rig" / version).symlink_to(real / version)

    def rig(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(ROOT / "scripts" / "rig"), *words],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert rig("env").returncode == 3
    started = rig("up", *(["--old"] if control_plane.version == catalogue.OLD else []))
    try:
        assert started.returncode == 0, started.stderr
        assert "what to try" in started.stdout
        reported = rig("env").stdout
        path = Path(reported.removeprefix("export KUBECONFIG='").rstrip("'\n"))
        assert yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"] in started.stdout
        assert "it runs already" in rig("up").stdout
        status = rig("status")
        assert (status.returncode, status.stdout.count(" runs\n")) == (0, 3)
    finally:
        ended = rig("down")
    assert ended.stdout.count("ended ") == 3
    assert (rig("status").returncode, rig("down").stdout) == (3, "nothing runs\n")
