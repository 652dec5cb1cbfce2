"""A process in place of another webhook, started as an existing installation starts it.

Its flags are those of the original's manifests; ours are only the directory that stands for the cluster and
the address, since a test cannot have the original's port. What the kubelet would mount at the original's
paths lies in the test's folder.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tests.process.webhook import Webhook, free_port
from tests.serving.authority import Authority
from tests.vectors import case

Json = dict[str, Any]
Program = Literal["azwi", "eks", "wif"]
TENANT, CLIENT = "7c1e3d9a-5b64-4a35-9e0d-2f4a0b7f1c11", "3f0c9d44-8f5e-4a0e-b1a7-6a5b1f8f2d22"
ROLE = "arn:aws:iam::123456789012:role/app"
PROVIDER = "projects/1/locations/global/workloadIdentityPools/p/providers/c"
EMAIL = "app@acme.iam.gserviceaccount.com"
MANIFESTS = f"""\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  namespace: team-a
  annotations:
    azure.workload.identity/client-id: {CLIENT}
    eks.amazonaws.com/role-arn: {ROLE}
    cloud.google.com/workload-identity-provider: {PROVIDER}
    cloud.google.com/service-account-email: {EMAIL}
"""
POD: Json = {
    "kind": "Pod",
    "metadata": {
        "generateName": "web-",
        "namespace": "team-a",
        "labels": {"azure.workload.identity/use": "true"},
    },
    "spec": {"serviceAccountName": "app", "containers": [{"name": "app", "image": "a"}]},
}
PATHS = {"azwi": "/mutate-v1-pod", "eks": "/mutate", "wif": "/mutate-v1-pod"}


class CompatProcess(Webhook):
    """One process, with the original's files at hand."""

    def __init__(
        self,
        program: Program,
        directory: Path,
        arguments: Sequence[str],
        environ: Mapping[str, str] = {},
        *,
        live: bool = False,
    ) -> None:
        self._live = live
        self.program = program
        self.health_port = free_port()
        super().__init__(directory, Authority("stand-in"), arguments, **environ)

    def flags(self, directory: Path) -> list[str]:
        """The flags for ports and certificates, as the original has them."""
        tls, address = directory / "tls", f"127.0.0.1:{self.port}"
        ours = [f"--addr={address}", *([] if self._live else [f"--cluster={self.cluster}"])]
        (self.cluster / "all.yaml").write_text(MANIFESTS)
        files = {
            "azwi": [
                f"--webhook-cert-dir={tls}",
                f"--health-addr=127.0.0.1:{self.health_port}",
                f"--metrics-addr=:{self.metrics_port}",
            ],
            "eks": [
                f"--tls-cert={tls}/tls.crt",
                f"--tls-key={tls}/tls.key",
                f"--metrics-port={self.metrics_port}",
            ],
            "wif": [
                f"-webhook-cert-dir={tls}",
                f"-health-probe-bind-address=127.0.0.1:{self.health_port}",
                f"-metrics-bind-address=127.0.0.1:{self.metrics_port}",
            ],
        }
        return ["--as", self.program, *ours, *files[self.program]]

    def probe(self, path: str) -> int:
        """A probe of the kubelet, on the plain port."""
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.health_port, timeout=10)
        ) as connection:
            connection.request("GET", path)
            return connection.getresponse().status

    def review(self, pod: Json = POD, version: str = "admission.k8s.io/v1") -> Json:
        """The answer to a review, as the API server sends it to this original."""
        review = json.loads(case.review(pod)) | {"apiVersion": version}
        status, body = self.post(json.dumps(review).encode(), f"{PATHS[self.program]}?timeout=10s")
        assert status == 200, body
        answer: Json = json.loads(body)
        return answer

    def notes(self) -> list[Json]:
        """The log lines about flags."""
        lines = [json.loads(line) for line in self.logged().splitlines() if line.startswith("{")]
        return [line for line in lines if line["text"] == "flag without its effect"]


@contextlib.contextmanager
def running_compat(
    program: Program, directory: Path, *arguments: str, **environ: str
) -> Iterator[CompatProcess]:
    """A process that is ready."""
    webhook = CompatProcess(program, directory, arguments, environ)
    try:
        webhook.wait_ready()
        yield webhook
    finally:
        webhook.close()


def patch(answer: Json) -> str:
    """The patch in an answer, as text; empty when there is none."""
    return base64.b64decode(answer["response"].get("patch", "")).decode()
