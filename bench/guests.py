"""Light guests and the replicas beside them: `python -m bench.guests PORT BASE CERT KEY KUBECONFIG`.

Every first step of a path below PORT is a guest of its own, with just enough of an API server for the
operator: objects that are applied, read, listed, watched and deleted, tokens and keys. The replica of guest N
listens on BASE + N, with the certificate that the management cluster holds for it, and allows everything.
`/` tells how many calls guests have had.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import ssl
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from aiohttp import web

from vestibule.api.gvk import Kind
from vestibule.httpserver import rlimits
from vestibule.kube import api_requests, kubeconfig
from vestibule.kube.client import Client
from vestibule.kube.informer import Informer
from vestibule.manifests import kinds
from vestibule.oidc import discovery

Json = dict[str, Any]
COLLECTIONS = {
    "mutatingwebhookconfigurations",
    "clusterroles",
    "clusterrolebindings",
    "serviceaccounts",
    "deployments",
    "namespaces",
}
KEY = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "bench", "n": "w" * 342, "e": "AQAB"}
"""A key of the size that clusters publish."""
APPLIED = {
    "manager": "vestibule-operator",
    "operation": "Apply",
    "fieldsV1": {"f:metadata": {"f:labels": {"f:vestibule.dev/owner": {}}}},
}


class Guests:
    """All of them."""

    def __init__(self) -> None:
        self.calls = 0
        self._versions = itertools.count(1)
        self._objects: dict[str, Json] = {}
        self._watches: dict[str, list[asyncio.Queue[Json]]] = {}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path == "/":
            return web.json_response({"calls": self.calls})
        self.calls += 1
        if path.rpartition("/")[2] in COLLECTIONS:
            return await (self._watch if "watch" in request.query else self._list)(request)
        if path.endswith(discovery.KEYS_PATH):
            return web.json_response({"keys": [KEY]})
        if request.method == "POST":
            return web.json_response(_token(self._objects[path.removesuffix("/token")]), status=201)
        if request.method == "PATCH":
            return self._apply(path, json.loads(await request.read()))
        found = self._objects.get(path)
        if found is None:
            return web.json_response({"kind": "Status", "code": 404, "message": "not found"}, status=404)
        if request.method == "DELETE":
            del self._objects[path]
            self._report(path, "DELETED", found)
        return web.json_response(found)

    def _apply(self, path: str, obj: Json) -> web.Response:
        known = self._objects.get(path)
        meta = obj["metadata"]
        meta |= {
            "uid": known["metadata"]["uid"] if known else str(uuid.uuid4()),
            "resourceVersion": str(next(self._versions)),
            "managedFields": [APPLIED],
        }
        self._objects[path] = obj
        self._report(path, "MODIFIED" if known else "ADDED", obj)
        return web.json_response(obj, status=200 if known else 201)

    def _report(self, path: str, change: str, obj: Json) -> None:
        for queue in self._watches.get(path.rpartition("/")[0], ()):
            queue.put_nowait({"type": change, "object": obj})

    async def _list(self, request: web.Request) -> web.Response:
        prefix = f"{request.path}/"
        items = [one for path, one in self._objects.items() if path.rpartition("/")[0] + "/" == prefix]
        meta = {"resourceVersion": str(next(self._versions))}
        return web.json_response({"kind": "List", "apiVersion": "v1", "metadata": meta, "items": items})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        queue: asyncio.Queue[Json] = asyncio.Queue()
        listening = self._watches.setdefault(request.path, [])
        listening.append(queue)
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            async with asyncio.timeout(float(request.query["timeoutSeconds"])):
                while True:
                    await response.write(json.dumps(await queue.get()).encode() + b"\n")
        except (TimeoutError, ConnectionError):
            return response
        finally:
            listening.remove(queue)


def _token(account: Json) -> Json:
    """A token as far as anybody looks into it."""
    now = int(time.time())
    claims = {
        "iat": now,
        "exp": now + 3 * 86_400,
        "kubernetes.io": {"serviceaccount": {"uid": account["metadata"]["uid"]}},
    }
    parts = [json.dumps(one).encode() for one in ({"alg": "none", "kid": KEY["kid"]}, claims)] + [b"none"]
    text = ".".join(base64.urlsafe_b64encode(one).decode().rstrip("=") for one in parts)
    return {"status": {"token": text}}


class Replicas:
    """One listener for each guest, from the Secrets of the management cluster."""

    def __init__(self, base: int) -> None:
        self._base = base
        self._tls: dict[int, ssl.SSLContext] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def told(self, change: str, kind: Kind, obj: Json) -> None:
        """A Secret; only serving certificates count."""
        del kind
        meta, data = obj["metadata"], obj.get("data") or {}
        if change == "deleted" or not meta["name"].endswith("-serving-cert"):
            return
        number = int(meta["namespace"].rpartition("-")[2])
        fresh = number not in self._tls
        tls = self._tls.setdefault(number, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        descriptor, name = tempfile.mkstemp()
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64decode(data["tls.crt"]) + b"\n" + base64.b64decode(data["tls.key"]))
        tls.load_cert_chain(name)
        Path(name).unlink()
        if fresh:
            task = asyncio.ensure_future(self._serve(number, tls))
            self._tasks.add(task)
            task.add_done_callback(_listening)

    async def _serve(self, number: int, tls: ssl.SSLContext) -> None:
        await asyncio.start_server(_review, "127.0.0.1", self._base + number, ssl=tls)


def _listening(task: asyncio.Task[None]) -> None:
    """A port that is taken would only show as a guest that is never served."""
    if not task.cancelled() and task.exception() is not None:
        sys.exit(f"a replica cannot listen: {task.exception()}")


async def _review(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One AdmissionReview, allowed."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError, IndexError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = next(
            int(line.split(":")[1]) for line in head.splitlines() if line.startswith("content-length")
        )
        uid = json.loads(await reader.readexactly(size))["request"]["uid"]
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": uid, "allowed": True},
        }
        body = json.dumps(review).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
    writer.close()


async def main(port: int, base: int, cert: str, key: str, management: str) -> None:
    hosted_clusters, replicas = Guests(), Replicas(base)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", hosted_clusters.answer)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
    client = Client(kubeconfig.load([Path(management)]))
    scope = api_requests.ListScope(selector="app=workload-identity-webhook")
    await Informer(client, kinds.SECRET, replicas.told, scope=scope).run()


if __name__ == "__main__":
    rlimits.allow_many()
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:6]))
