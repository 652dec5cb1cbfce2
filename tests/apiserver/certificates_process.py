"""``vestibule certificates`` as it is rendered: with the token of its ServiceAccount, its files, and a
kubelet's part for the Secret that replicas mount."""

from __future__ import annotations

import base64
import contextlib
import json
import signal
import threading
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver.child_process import Running
from tests.rig import process
from tests.rig.client import Client, at
from tests.rig.controlplane import ControlPlane
from tests.rig.process import free_port
from tests.serving.authority import Mount, Pair
from vestibule.manifests import certificates_workload

Json = dict[str, Any]


def token(plane: ControlPlane, namespace: str, account: str) -> str:
    """Of a ServiceAccount, as a pod would have it."""
    where = at("serviceaccounts", namespace, account, sub="token")
    requested = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(plane.admin.create(where, requested).object["status"]["token"])


def login(plane: ControlPlane, path: Path, namespace: str, account: str) -> Path:
    """A kubeconfig with such a token."""
    cluster = {
        "server": plane.url,
        "certificate-authority-data": base64.b64encode(plane.authority.pem).decode(),
    }
    created = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": token(plane, namespace, account)}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(created))
    return path


class CertificatesProcess:
    """One installation's issuer."""

    def __init__(self, plane: ControlPlane, folder: Path, name: str, settings: Path, mount: Mount) -> None:
        self.plane, self.name, self._folder, self._settings, self._mount = (
            plane,
            name,
            folder,
            settings,
            mount,
        )
        self.account = f"{name}-certificates"
        self.user = f"system:serviceaccount:{name}:{self.account}"
        self.running: Running | None = None
        self._stop, self._thread = threading.Event(), threading.Thread(target=self._kubelet, daemon=True)
        self._laid = b""
        self.secret = at("secrets", name, f"{name}-tls")
        self.signing = at("secrets", name, certificates_workload.signing_secret(name))

    def client(self) -> Client:
        """With its token; the caller closes it."""
        return self.plane.token_client(token(self.plane, self.name, self.account))

    def start(self) -> None:
        """The process, and the kubelet of the replicas."""
        found = self.plane.admin.get(at("configmaps", self.name, self.account)).object
        registrations = self._folder / "registrations.json"
        registrations.write_text(found["data"]["registrations.json"])
        kubeconfig = login(self.plane, self._folder / "issuer.yaml", self.name, self.account)
        self.running = Running(
            self._folder / "issuer",
            *("certificates", "--kubeconfig", str(kubeconfig), "--settings", str(self._settings)),
            *("--registrations", str(registrations), "--metrics-addr", f"127.0.0.1:{free_port()}"),
        )
        self._thread.start()
        try:
            process.wait("a certificate", lambda: bool(self._laid), 30)
        except TimeoutError as error:
            raise AssertionError(self.log()) from error

    def log(self) -> str:
        return self.running.log.read_text()[-3000:] if self.running is not None else ""

    def _kubelet(self) -> None:
        admin = self.plane.client("rig:mounting", ["system:masters"])
        while not self._stop.wait(0.1):
            with contextlib.suppress(OSError):
                answer = admin.get(self.secret)
                data = json.loads(answer.body).get("data") or {} if answer.status == 200 else {}
                if "tls.crt" in data:
                    cert, key = (base64.b64decode(data[one]) for one in ("tls.crt", "tls.key"))
                    if cert != self._laid:
                        self._mount.write_pair(Pair(cert, key, 0))
                        self._laid = cert

    def close(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)
        if self.running is not None:
            self.running.end(signal.SIGKILL)
