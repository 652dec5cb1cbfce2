"""The operator on a real API server: its rights as rendered, its process, and a kubelet's part.

Operator and webhook log in with the tokens of their ServiceAccounts, so what they may do is what pods of ours
could. The webhook is started from the container that the operator wrote: arguments, settings and the items of
the Secret that the volume shows. It listens on this machine, where the object says it is.
"""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver.child_process import Running
from tests.apiserver.webhook_installation import path_of
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane
from tests.rig.process import free_port
from tests.serving.authority import Mount, Pair
from vestibule.api.settings import schema
from vestibule.manifests import kinds, operator

Json = dict[str, Any]
API = "vestibule.dev/v1alpha1"
OWNER = "vestibule.dev/owner"
HOSTED = ("--hosted", "--hosted-all-namespaces", "--allow-loopback")
"""Flags of an operator whose guests are on this machine."""
IMAGE = "registry.example/vestibule@sha256:0"


class OperatorInstallation:
    """Everything around one VestibuleWebhook."""

    def __init__(self, plane: ControlPlane, folder: Path, name: str, **settings: Any) -> None:
        self.plane, self.folder, self.name = plane, folder, name
        self.admin = plane.admin
        self.port = free_port()
        own = {"name": name, "namespace": name, "image": IMAGE}
        data = {**settings, "install": {**settings.get("install", {}), **own}}
        self.settings = schema.parse(data, "operator_installed")
        self.operators: list[Running] = []
        self.webhook: Running | None = None
        self._tls = folder / "tls"
        self._mount, self._laid = Mount(self._tls), b""
        self.account = operator.name(self.settings)
        self.user = f"system:serviceaccount:{name}:{self.account}"
        self.path = at("vestibulewebhooks", name=name, api=API)
        for obj in operator.objects(self.settings):
            if obj["kind"] != "Deployment":
                self.admin.apply(path_of(obj), obj, "test", force=True).object  # noqa: B018 - raises
        for obj in operator.objects(self.settings):
            if obj["kind"] == "CustomResourceDefinition":
                self.admin.wait(path_of(obj), _established)
        self.kubeconfig = self.login(self.account)

    def login(self, account: str, url: str = "") -> Path:
        """A kubeconfig with a token of a ServiceAccount of ours."""
        where = at("serviceaccounts", self.name, account, sub="token")
        requested = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self.admin.create(where, requested).object["status"]["token"]
        cluster = {
            "server": url or self.plane.url,
            "certificate-authority-data": base64.b64encode(self.plane.authority.pem).decode(),
        }
        created = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{account}-{free_port()}.yaml"
        path.write_text(yaml.safe_dump(created))
        return path

    def start(self, *flags: str, kubeconfig: Path | None = None) -> Running:
        """An operator process."""
        port = free_port()
        created = Running(
            self.folder / f"operator-{len(self.operators)}",
            *("operator", "--kubeconfig", str(kubeconfig or self.kubeconfig), "--namespace", self.name),
            *("--only", self.name, "--lease", self.account),
            *("--metrics-addr", f"127.0.0.1:{port}", *flags),
        )
        created.port = port
        self.operators.append(created)
        return created

    def ask(self, **spec: Any) -> Json:
        """The object that asks for the webhook, reached at a port of this machine."""
        target = {"type": "Url", "url": f"https://127.0.0.1:{self.port}"}
        obj = {
            "apiVersion": API,
            "kind": "VestibuleWebhook",
            "metadata": {"name": self.name},
            "spec": {"image": IMAGE, "target": target, **spec},
        }
        return self.admin.apply(self.path, obj, "test", force=True).object

    def get(self, kind: str, name: str = "") -> Json | None:
        """An object of the installation."""
        answer = self.admin.get(self.where(kind, name))
        return answer.object if answer.status == 200 else None

    def where(self, kind: str, name: str = "") -> str:
        namespaced = kind not in {one.kind for one in kinds.WIDE}
        meta = {"name": name or self.name, **({"namespace": self.name} if namespaced else {})}
        if kind == "PriorityClass":
            return at("priorityclasses", name=meta["name"], api="scheduling.k8s.io/v1")
        return path_of({"kind": kind, "metadata": meta})

    def serve(self, host: str = "127.0.0.1", *flags: str, whole: bool = False) -> None:
        """A kubelet's part: once the Deployment and what it mounts are there, the webhook runs. ``whole``:
        its Secret is somebody else's, and holds no key of an authority."""
        deployment = self.admin.wait(self.where("Deployment"))
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
        arguments = list(container["args"])
        for volume in pod["volumes"]:
            home = self.folder / "pod" / volume["name"]
            if "configMap" in volume:
                found = self.admin.wait(self.where("ConfigMap", volume["configMap"]["name"]))
                _write(home, found["data"])
                arguments = [one.replace(mounts[volume["name"]], str(home)) for one in arguments]
            elif "secret" in volume:
                items = [one["key"] for one in volume["secret"].get("items", ())]
                assert items == ([] if whole else ["tls.crt", "tls.key"])
                self.admin.wait(self.where("Secret", volume["secret"]["secretName"]))
                self.refresh()
        tls = self._tls
        self.webhook = Running(
            self.folder / "webhook",
            *arguments,
            *("--kubeconfig", str(self.login(self.name)), "--addr", f"{host}:{self.port}"),
            *("--metrics-addr", f"127.0.0.1:{free_port()}"),
            *("--tls-cert", str(tls / "tls.crt"), "--tls-key", str(tls / "tls.key"), *flags),
        )

    def refresh(self) -> str:
        """Lay the present certificate out, whole, as a kubelet does; the certificate."""
        found = self.get("Secret", f"{self.name}-tls")
        assert found is not None
        cert, key = (base64.b64decode(found["data"][name]) for name in ("tls.crt", "tls.key"))
        if cert != self._laid:
            self._mount.write_pair(Pair(cert, key, 0))
            self._laid = cert
        return cert.decode()

    def condition(self, kind: str) -> Json:
        found = self.admin.get(self.path).object.get("status", {}).get("conditions", [])
        return next((one for one in found if one["type"] == kind), {})

    def wait(self, kind: str, status: str, reason: str = "", seconds: float = 30.0) -> Json:
        """Until a condition is as wanted."""

        def holds() -> bool:
            found = self.condition(kind)
            return found.get("status") == status and (not reason or found["reason"] == reason)

        try:
            process.wait(f"{kind}={status}/{reason}", holds, seconds)
        except BaseException:
            print(self.admin.get(self.path).body.decode())
            for one in self.operators:
                print(one.log.read_text()[-4000:])
            raise
        return self.condition(kind)

    def owned(self) -> dict[str, Json]:
        """Every object that was made for this one, by path."""
        found: dict[str, Json] = {}
        for kind in (*kinds.WIDE, *kinds.NEAR, *kinds.RBAC):
            where = at(kind.plural, self.name if kind.namespaced else None, api=kind.api_version)
            for one in self.admin.list(where, labelSelector=f"{OWNER}={self.name}"):
                found[f"{kind.kind} {one['metadata']['name']}"] = one
        return found

    def close(self) -> None:
        """End every process and remove everything."""
        for one in self.operators:
            one.end(signal.SIGKILL)
        if self.webhook is not None:
            self.webhook.end(signal.SIGKILL)
        if self.admin.get(self.path).status == 200:
            self.admin.patch(self.path, {"metadata": {"finalizers": []}})
            self.admin.delete(self.path)
        for kind in kinds.WIDE:
            where = at(kind.plural, api=kind.api_version)
            self.admin.delete(where, labelSelector=f"{OWNER}={self.name}")
        for obj in operator.objects(self.settings):
            policies = ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy")
            if obj["kind"] in ("ClusterRole", "ClusterRoleBinding", "Namespace", *policies) or (
                obj["metadata"].get("namespace") == "default"
            ):
                self.admin.delete(path_of(obj))


def _write(home: Path, content: dict[str, str]) -> None:
    home.mkdir(parents=True, exist_ok=True)
    for key, text in content.items():
        (home / key).write_text(text)


def _established(definition: Json) -> bool:
    found = definition.get("status", {}).get("conditions", [])
    return any(one["type"] == "Established" and one["status"] == "True" for one in found)


@contextlib.contextmanager
def operator_installed(plane: ControlPlane, folder: Path, **settings: Any) -> Iterator[OperatorInstallation]:
    """All of it under a name of its own, gone afterwards."""
    created = OperatorInstallation(plane, folder, f"op-{secrets.token_hex(3)}", **settings)
    try:
        yield created
    finally:
        created.close()


def normal(obj: Json) -> Json:
    """An object without what every write changes, and without keys."""
    plain: Json = json.loads(json.dumps(obj))
    meta = plain["metadata"]
    for key in ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"):
        meta.pop(key, None)
    plain.pop("status", None)
    return plain
