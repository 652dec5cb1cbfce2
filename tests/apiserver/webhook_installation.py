"""The webhook process, registered with a real API server: rights and trust as rendered.

What ``render`` prints is applied as it is, but for two things the rig has not: a Service network (the
registration gets a URL) and a kubelet (the process is started here). The process is a certificate user bound
to the rendered roles, so what it may do is what a pod of ours could.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.apiserver.certificates_process import CertificatesProcess
from tests.process.webhook import free_port
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.serving.authority import Authority, Mount
from vestibule.api.settings import schema
from vestibule.manifests import install

Json = dict[str, Any]
USER = "vestibule-webhook"
_PLURALS = {
    "Namespace": ("v1", "namespaces"),
    "ServiceAccount": ("v1", "serviceaccounts"),
    "ConfigMap": ("v1", "configmaps"),
    "Secret": ("v1", "secrets"),
    "Service": ("v1", "services"),
    "Lease": ("coordination.k8s.io/v1", "leases"),
    "ClusterRole": ("rbac.authorization.k8s.io/v1", "clusterroles"),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    "Role": ("rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", "rolebindings"),
    "Deployment": ("apps/v1", "deployments"),
    "ReplicaSet": ("apps/v1", "replicasets"),
    "PodDisruptionBudget": ("policy/v1", "poddisruptionbudgets"),
    "NetworkPolicy": ("networking.k8s.io/v1", "networkpolicies"),
    "CustomResourceDefinition": ("apiextensions.k8s.io/v1", "customresourcedefinitions"),
    "Certificate": ("cert-manager.io/v1", "certificates"),
    "Issuer": ("cert-manager.io/v1", "issuers"),
    "MutatingWebhookConfiguration": ("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations"),
    "ValidatingWebhookConfiguration": ("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations"),
    "ValidatingAdmissionPolicy": ("admissionregistration.k8s.io/v1", "validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": (
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
    ),
}


def path_of(obj: Json) -> str:
    """Where the API server keeps an object."""
    api, plural = _PLURALS[obj["kind"]]
    meta = obj["metadata"]
    return at(plural, namespace=meta.get("namespace"), name=meta["name"], api=api)


class Replica:
    """One process."""

    def __init__(self, folder: Path, kubeconfig: Path, settings: Path, tls: Path, port: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port, self.metrics_port = port or free_port(), free_port()
        self._log = (folder / "log").open("ab")
        self.log = folder / "log"
        files = ["--tls-cert", str(tls / "tls.crt"), "--tls-key", str(tls / "tls.key")]
        command = [
            sys.executable, "-m", "vestibule", "webhook",
            "--kubeconfig", str(kubeconfig), "--settings", str(settings),
            "--addr", f"127.0.0.1:{self.port}", "--metrics-addr", f"127.0.0.1:{self.metrics_port}", *files,
        ]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=self._log, stderr=self._log, env={**os.environ})

    def get(self, path: str) -> tuple[int, str]:
        """One GET on the plain port."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=10)) as to:
            to.request("GET", path)
            response = to.getresponse()
            return response.status, response.read().decode()

    def ready(self) -> bool:
        """What ``/readyz`` says."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.get("/readyz")[0] == 200
        return False

    def wait_ready(self, seconds: float = 60.0) -> None:
        """Until it is ready; a second or two, unless the machine does other things."""
        deadline = time.monotonic() + seconds
        while not self.ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"exit {self.process.poll()}: {self.log.read_text()[-3000:]}")
            time.sleep(0.02)

    def metric(self, name: str, labels: str = "") -> float:
        """The sum of the samples of a name whose labels contain the text."""
        text = self.get("/metrics")[1]
        found = re.findall(rf"^{name}(\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE)
        return sum(float(value) for shown, value in found if labels in shown)

    def resident(self) -> int:
        """Bytes of memory in use."""
        match = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text())
        assert match
        return int(match[1]) * 1024

    def terminate(self, seconds: float = 20.0) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def close(self) -> None:
        """Make sure that nothing is left."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self._log.close()


class WebhookInstallation:
    """What is rendered, applied; replicas; and the registration that points at them."""

    def __init__(
        self, plane: ControlPlane, folder: Path, name: str, api_url: str = "", **settings: Any
    ) -> None:
        self.plane, self.folder, self.name = plane, folder, name
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = Authority(f"webhook {name}")
        self.mount = Mount(folder / "tls")
        self.mount.write_pair(self.authority.leaf())
        chosen = {"name": name, "namespace": name, "certificate": "secret", "caBundle": self.bundle()}
        data = {**settings, "install": {**chosen, **settings.get("install", {})}}
        self.settings = schema.parse(data, "installation")
        self.objects = {obj["kind"]: obj for obj in install.objects(self.settings)}
        self.user = f"{USER}-{name}"
        self.kubeconfig = plane.kubeconfig(self.user, url=api_url) if api_url else plane.kubeconfig(self.user)
        self.settings_file = folder / "settings.json"
        process = {
            **json.loads(self.objects["ConfigMap"]["data"]["settings.json"]),  # the last one
            "install": {"name": name, "namespace": name},
        }
        process.setdefault("serving", {}).setdefault("drainSeconds", 2)
        self.settings_file.write_text(json.dumps(process))
        self.replicas: list[Replica] = []
        self.issued: CertificatesProcess | None = None
        """Who issues the certificate, where that is our own."""

    def change_settings(self, **sections: Json) -> None:
        """Lay values over sections of the settings file of the processes."""
        data = json.loads(self.settings_file.read_text())
        for name, values in sections.items():
            data[name] = {**data.get(name, {}), **values}
        self.settings_file.write_text(json.dumps(data))

    def bundle(self) -> str:
        """The CA the API server should trust."""
        return base64.b64encode(self.authority.pem).decode()

    @property
    def configuration(self) -> str:
        """Where the registration lives."""
        return path_of(self.objects["MutatingWebhookConfiguration"])

    def apply(self, *kinds: str) -> None:
        """Apply what was rendered but the registration, or only some kinds; the user joins the bindings."""
        for rendered in install.objects(self.settings):
            obj = rendered
            kind = obj["kind"]
            if kind.endswith("WebhookConfiguration") or (kinds and kind not in kinds):
                continue
            if kind in ("ClusterRoleBinding", "RoleBinding") and obj["metadata"]["name"] == self.name:
                user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": self.user}
                obj = {**obj, "subjects": [*obj["subjects"], user]}
            self.plane.admin.apply(path_of(obj), obj, "installation", force=True).object  # noqa: B018 - raises

    def start(self, *, port: int = 0, own_certificate: bool = False) -> Replica:
        """Another replica, ready."""
        folder = self.folder / f"replica-{len(self.replicas)}"
        if own_certificate and self.issued is None:
            self.issued = CertificatesProcess(
                self.plane, self.folder, self.name, self.settings_file, self.mount
            )
            self.issued.start()
        replica = Replica(folder, self.kubeconfig, self.settings_file, self.folder / "tls", port)
        self.replicas.append(replica)
        replica.wait_ready()
        return replica

    def register(self, port: int, **hook: Any) -> Json:
        """Point the rendered registration at a port of this machine."""
        obj = json.loads(json.dumps(self.objects["MutatingWebhookConfiguration"]))
        entry: Json = obj["webhooks"][0]
        client: Json = {"url": f"https://127.0.0.1:{port}/mutate"}
        if "caBundle" in entry["clientConfig"]:
            client["caBundle"] = entry["clientConfig"]["caBundle"]
        entry |= {"clientConfig": client, **hook}
        self.plane.admin.apply(self.configuration, obj, "installation", force=True).object  # noqa: B018 - raises
        return entry

    def close(self) -> None:
        """Unregister, end every process, remove what is cluster-wide."""
        if self.issued is not None:
            self.issued.close()
        self.plane.admin.delete(self.configuration)
        for replica in self.replicas:
            replica.close()
        wide = ("ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicyBinding")
        for obj in install.objects(self.settings):
            if obj["kind"] in (*wide, "ValidatingAdmissionPolicy"):
                self.plane.admin.delete(path_of(obj))
        self.plane.admin.delete(at("namespaces", name=self.name))

    def tls(self) -> ssl.SSLContext:
        """For a client of a replica."""
        return self.authority.trusting()


@contextlib.contextmanager
def present(plane: ControlPlane, *objects: Json) -> Iterator[list[Json]]:
    """Objects, there for a while, and gone for good when it is over: others may use the same names."""
    created: list[Json] = []
    try:
        for obj in objects:
            created.append(plane.admin.apply(path_of(obj), obj, "somebody", force=True).object)
        yield created
    finally:
        paths = [path_of(obj) for obj in reversed(objects)]
        for path in paths:
            plane.admin.delete(path)
        for path in paths:
            plane.admin.wait_gone(path, 60)


@contextlib.contextmanager
def installed(
    plane: ControlPlane,
    folder: Path,
    name: str,
    *,
    register: bool = True,
    kinds: Sequence[str] = (),
    **settings: Any,
) -> Iterator[WebhookInstallation]:
    """A webhook with one replica, registered, and known to be called."""
    installation = WebhookInstallation(plane, folder, name, **settings)
    try:
        installation.apply(*kinds)
        replica = installation.start()
        if register:
            installation.register(replica.port)
            wait_called(installation)
        yield installation
    finally:
        installation.close()


def wait_called(installation: WebhookInstallation, seconds: float = 15.0) -> None:
    """Until the API server calls the webhook: a pod that asks for nothing is sent until it is counted."""
    admin = installation.plane.admin

    def counted() -> float:
        return sum(one.metric("vestibule_admission_requests_total") for one in installation.replicas)

    probe = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    deadline = time.monotonic() + seconds
    before = counted()
    while counted() == before:
        admin.create(at("pods", namespace="default"), probe, dryRun="All")
        if time.monotonic() > deadline:
            raise AssertionError(
                f"the API server does not call us: {installation.replicas[0].log.read_text()[-2000:]}"
            )
        time.sleep(0.05)
