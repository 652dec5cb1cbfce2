"""Pods on their way through the API server: the request a client sends, and what must be in the answer.

Two pods: a plain one, and the large one of `bench.pod` as its controller would send it, without what the API
server adds. What the API server itself spends on a webhook (it encodes the pod, applies the patch, decodes
the result, runs its own plug-ins again) grows with the pod and is several times what we spend, so rates are
for the plain one. Their ReplicaSet and Deployment exist: our decision walks to them as in a cluster.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass

import msgspec
from tests.rig.controlplane import ADMIN, MASTERS, ControlPlane

from bench import cluster, fixtures
from bench.connection import Connection
from bench.pod import NAMESPACE, OWNER, Json, pod

MARKS = (cluster.ROLE.encode(), b'"AWS_WEB_IDENTITY_TOKEN_FILE"', b'"audience":"sts.amazonaws.com"')
"""Text that only a pod with the identity of the aws shape holds."""
PATIENCE = 15.0
"""Seconds for one answer; the API server gives a webhook 10."""


@dataclass(frozen=True, slots=True)
class PodCreator:
    """The API server as its administrator reaches it."""

    port: int
    trust: ssl.SSLContext

    def connection(self) -> Connection:
        return Connection(self.port, self.trust)

    def create(self, body: bytes, *, namespace: str = NAMESPACE, dry: bool = False) -> bytes:
        query = "?dryRun=All" if dry else ""
        return self._request(f"POST /api/v1/namespaces/{namespace}/pods{query}", body)

    def patch(self, name: str, body: bytes) -> bytes:
        """A merge patch, dry."""
        line = f"PATCH /api/v1/namespaces/{NAMESPACE}/pods/{name}?dryRun=All"
        return self._request(line, body, "application/merge-patch+json")

    def _request(self, line: str, body: bytes, media: str = "application/json") -> bytes:
        head = f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: {media}\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def pod_creator(plane: ControlPlane) -> PodCreator:
    pair = plane.authority.client(ADMIN, MASTERS)
    return PodCreator(plane.apiserver.port, plane.authority.trusting(pair))


def plain(number: int, name: str = "", *, who: str = "", **spec: object) -> bytes:
    """One container of a ReplicaSet; named by the API server unless it has a name."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": OWNER[0], "uid": OWNER[1]}
    labels = {"build": f"b{number}", **_whose(who)}
    meta = {"labels": labels, "ownerReferences": [{**owner, "controller": True}]}
    container = {"name": "checkout", "image": "example.com/shop/checkout:2.14.3"}
    expected = {"serviceAccountName": fixtures.account("aws"), "containers": [container]}
    return _encoded({"metadata": meta, "spec": {**expected, **spec}}, name)


def large(number: int, *, who: str = "") -> bytes:
    """Two containers, 15 variables, probes: 5 KB, and 10 KB when the webhook sees it."""
    created = pod(fixtures.account("aws"), f"{number:016x}")
    created["metadata"]["labels"] |= _whose(who)
    for added in ("managedFields", "creationTimestamp", "namespace"):
        del created["metadata"][added]
    del created["status"], created["spec"]["serviceAccount"], created["spec"]["priority"]
    token = created["spec"]["volumes"].pop()["name"]
    for container in created["spec"]["containers"]:
        container["volumeMounts"] = [mount for mount in container["volumeMounts"] if mount["name"] != token]
    return _encoded(created, "")


WHO = "bench/who"
"""The label by which a pod chooses its webhook."""


def _whose(who: str) -> dict[str, str]:
    return {WHO: who} if who else {}


def _encoded(made: Json, name: str) -> bytes:
    made["metadata"] |= {"name": name} if name else {"generateName": f"{OWNER[0]}-"}
    return msgspec.json.encode(made)


def mutated(answer: bytes) -> bool:
    return all(mark in answer for mark in MARKS)
