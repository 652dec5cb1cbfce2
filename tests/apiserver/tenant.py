"""A tenant: ``edit`` in one namespace and all of our namespaced kinds there, and a server of theirs."""

from __future__ import annotations

import base64
import contextlib
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.rig.client import Client, at
from tests.rig.controlplane import ControlPlane
from tests.serving.authority import Authority

Json = dict[str, Any]
RBAC = "rbac.authorization.k8s.io/v1"
API = "vestibule.dev/v1alpha1"


class Tenant(NamedTuple):
    """Who they are, and where."""

    name: str
    namespace: str
    client: Client

    def secret(self, name: str, **data: str) -> None:
        """A Secret of theirs."""
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        obj = {"metadata": {"name": name}, "data": encoded}
        self.client.create(at("secrets", self.namespace), obj).object  # noqa: B018 - raises

    def hosted(self, name: str, target: str, **spec: Any) -> None:
        """A HostedWebhook that leads to the cluster of a kubeconfig."""
        obj = {
            "apiVersion": API,
            "kind": "HostedWebhook",
            "metadata": {"name": name},
            "spec": {"target": {"flavour": "kubeconfig", "name": target}, **spec},
        }
        self.client.create(at("hostedwebhooks", self.namespace, api=API), obj).object  # noqa: B018 - raises

    def condition(self, name: str, kind: str) -> Json:
        """A condition of a HostedWebhook; empty when it has none yet."""
        found = self.client.get(at("hostedwebhooks", self.namespace, name, api=API)).object
        reported = found.get("status", {}).get("conditions", [])
        return next((one for one in reported if one["type"] == kind), {})


def tenant(plane: ControlPlane) -> Tenant:
    """One in a namespace of their own."""
    namespace = plane.namespace("tenant")
    user = f"tenant:{namespace}"
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    ours = {"apiGroups": ["vestibule.dev"], "resources": ["*"], "verbs": ["*"]}
    admin = plane.admin
    role = {"metadata": {"name": "our-kinds"}, "rules": [ours]}
    admin.create(at("roles", namespace, api=RBAC), role).object  # noqa: B018 - raises
    for kind, name in (("ClusterRole", "edit"), ("Role", "our-kinds")):
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        binding = {"metadata": {"name": f"tenant-{name}"}, "roleRef": reference, "subjects": [subject]}
        admin.create(at("rolebindings", namespace, api=RBAC), binding).object  # noqa: B018 - raises
    client = plane.client(user)
    where = at("secrets", namespace)
    with contextlib.suppress(TimeoutError):
        plane.admin.wait(where, lambda _: client.get(where).status == 200)
    return Tenant(user, namespace, client)


class Listener:
    """An HTTPS server of the tenant's; keeps what it is sent."""

    def __init__(self, folder: Path, *, redirect: str = "") -> None:
        self.authority = Authority("attacker")
        self.seen: list[tuple[str, str]] = []
        """Path and Authorization of every request."""
        leaf = self.authority.leaf()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tls.crt").write_bytes(leaf.cert)
        (folder / "tls.key").write_bytes(leaf.key)
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                seen.append((self.path, self.headers.get("Authorization", "")))
                self.send_response(307 if redirect else 500)
                if redirect:
                    self.send_header("Location", redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        for method in ("GET", "POST", "PATCH", "PUT"):
            setattr(Handler, f"do_{method}", Handler._answer)

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.socket = tls.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def kubeconfig(self, host: str = "127.0.0.1", cluster: Any = None, **user: Any) -> str:
        """A kubeconfig that leads here; ``cluster`` changes fields of the cluster."""
        message = {
            "server": f"https://{host}:{self.port}",
            "certificate-authority-data": base64.b64encode(self.authority.pem).decode(),
            **(cluster or {}),
        }
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "x",
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [
                    {
                        "name": "c",
                        "cluster": {key: value for key, value in message.items() if value is not None},
                    }
                ],
                "users": [{"name": "u", "user": user}],
            }
        )

    @contextlib.contextmanager
    def listening(self) -> Iterator[Listener]:
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
