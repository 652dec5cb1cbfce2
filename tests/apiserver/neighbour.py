"""Another mutating webhook beside ours: a real HTTPS server that changes pods as a test wants it to."""

from __future__ import annotations

import base64
import http.server
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import ControlPlane

Json = dict[str, Any]
Change = Callable[[Json], list[Json]]
"""A pod to the operations on it."""


class Neighbour:
    """``with Neighbour(plane, namespace, "zz-after", change):`` it is called for the pods of one namespace.

    The API server calls configurations by name, so the name says who is first.
    """

    def __init__(self, plane: ControlPlane, namespace: str, name: str, change: Change, **hook: Any) -> None:
        self._plane, self._namespace, self._hook = plane, namespace, hook
        self.asked: list[Json] = []
        """The pods it was asked about."""
        neighbour = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                pod = review["request"]["object"]
                neighbour.asked.append(pod)
                patch = base64.b64encode(json.dumps(change(pod)).encode()).decode()
                answer = {"uid": review["request"]["uid"], "allowed": True}
                answer |= {"patchType": "JSONPatch", "patch": patch}
                body = json.dumps({**review, "request": None, "response": answer}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False  # server_close then waits for them, and no socket is left
        self._server.socket = plane.authority.serving("neighbour").wrap_socket(
            self._server.socket, server_side=True
        )
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.name = f"{name}-{namespace}"
        self._path = at(
            "mutatingwebhookconfigurations", name=self.name, api="admissionregistration.k8s.io/v1"
        )

    def __enter__(self) -> Self:
        self._thread.start()
        entry = {
            "name": "neighbour.rig.test",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "url": f"https://127.0.0.1:{self._server.server_address[1]}/mutate",
                "caBundle": base64.b64encode(Path(self._plane.authority.ca).read_bytes()).decode(),
            },
            "failurePolicy": "Fail",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace}},
            "reinvocationPolicy": "Never",
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
            ],
            "sideEffects": "None",
            "timeoutSeconds": 5,
            **self._hook,
        }
        obj = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self.name},
            "webhooks": [entry],
        }
        self._plane.admin.apply(self._path, obj, "neighbour").object  # noqa: B018 - raises
        process.wait(f"{self.name} to be called", self._called, 15)
        self.asked.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self._plane.admin.delete(self._path)
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()

    def _called(self) -> bool:
        probe = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        self._plane.admin.create(at("pods", self._namespace), probe, dryRun="All")
        return bool(self.asked)
