"""Webhooks side by side on one API server, each registered as ours is and chosen by a label of the pod.

Beside ours one that decides nothing: it says yes, or sends a patch that was made before. So creations can
take turns one by one, and what a moment of the machine costs, all of them pay.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
from tests.apiserver.webhook_installation import WebhookInstallation

from bench import creation, processes, subject
from bench.connection import Connection
from bench.creation import PodCreator
from bench.pod import NAMESPACE, Json
from bench.processes import Unavailable
from bench.rig import Rig

START_LIMIT = 15.0
"""Seconds until a server must listen."""
LEAST = [{"op": "add", "path": "/metadata/annotations", "value": {"bench": "patched"}}]
"""The smallest change there is; annotations that a pod has are lost, which nobody misses here."""


def patch_for(creator: PodCreator, connection: Connection, pod: Callable[[int], bytes]) -> bytes:
    """What we would send for a pod, as JSON text: worked out from the pod as the API server leaves it when
    nobody is called. Raises Unavailable."""
    connection.send(creator.create(pod(0), dry=True), 0.0)
    if connection.wait(creation.PATIENCE) != 201:
        raise Unavailable(f"API server answers {connection.answer[-200:]!r}")
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "0",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": NAMESPACE,
            "operation": "CREATE",
            "userInfo": {},
            "object": _object(connection.answer),
        },
    }
    answer = json.loads(subject.handler()(msgspec.json.encode(review)))
    return base64.b64decode(answer["response"]["patch"])


def _object(answer: bytes) -> Json:
    """The object in an HTTP answer that may have come in chunks, of which the first holds it whole."""
    text = answer.decode()
    found: Json = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
    return found


@contextmanager
def undecided(rig: Rig, environment: WebhookInstallation, patches: dict[str, bytes]) -> Iterator[int]:
    """The port of the server that decides nothing, with our certificate."""
    folder = rig.scratch / "patches"
    folder.mkdir(exist_ok=True)
    for name, patch in patches.items():
        (folder / name).write_bytes(base64.b64encode(patch))
    port, tls = processes.free_port(), environment.folder / "tls"
    command = processes.python(
        "bench.yes_engine", str(port), str(tls / "tls.crt"), str(tls / "tls.key"), str(folder)
    )
    with processes.running(command, rig.scratch / "yes.log", None) as child:
        processes.wait_until(child, lambda: processes.listens(port), START_LIMIT)
        yield port


@contextmanager
def registered(environment: WebhookInstallation, entry: Json, urls: dict[str, str]) -> Iterator[None]:
    """Each URL registered as `entry`, for the pods that choose its name."""
    created = json.loads(json.dumps(environment.objects["MutatingWebhookConfiguration"]))
    paths = []
    try:
        for who, url in urls.items():
            hook = {**entry, "clientConfig": {**entry["clientConfig"], "url": url}}
            hook["objectSelector"] = {"matchLabels": {creation.WHO: who}}
            obj = {**created, "metadata": {"name": f"bench-{who}"}, "webhooks": [hook]}
            paths.append(f"/apis/{created['apiVersion']}/mutatingwebhookconfigurations/bench-{who}")
            environment.plane.admin.apply(paths[-1], obj, "bench", force=True).object  # noqa: B018 - raises
        yield
    finally:
        for path in paths:
            environment.plane.admin.delete(path)
