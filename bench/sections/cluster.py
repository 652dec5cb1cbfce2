"""Through the real API server: what the webhook adds to the creation of a pod, and whom it is not called for.

One client creates pods one after the other (dry run). They take turns: one for our webhook, one for each
rival, one for nobody, chosen by a label; every pod is proven mutated, or not. Registration, selectors and
conditions are as rendered. Most of what is added is the API server's own work: calling anybody at all, and
working in any change (it decodes the pod anew and runs its plug-ins again). So the same is measured for a
server that decides nothing and says yes, sends the smallest patch there is, or sends the very patch of ours.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import closing

import msgspec
from tests.apiserver.webhook_installation import WebhookInstallation
from tests.rig.controlplane import ControlPlane

from bench import cluster, creation, figures, planes, processes, rivals, samples, seeding
from bench.connection import Connection
from bench.creation import PodCreator
from bench.figures import Figure
from bench.planes import Webhook
from bench.pod import Json
from bench.processes import Unavailable
from bench.rig import Rig
from vestibule.manifests.webhook_configurations import WEBHOOK_NAME

NAME = "through the API server"
ADDED = "p50 added to a creation"
LABELS = {
    "ours": ADDED,
    "same": "the same patch, by a server that decides nothing",
    "least": "one annotation, by a server that decides nothing",
    "yes": "no patch, by a server that only says yes",
}
NOBODY = "none"
MUTATED = ("ours", "same")
PODS: dict[str, Callable[..., bytes]] = {"plain": creation.plain, "large": creation.large}
BARS = {("ours", "plain"): figures.ADDED}
UNCONCERNED = "calls for pods that no rule can concern"
TURN_LIMIT = 20.0
"""Seconds until the API server must have noticed a registration."""
WARM = 30
"""Creations of each kind before those that count."""
EXCLUDED = ("legacy", "batch-*")
OWN = "bench"
"""The namespace of the installation."""
OUTSIDE = ("kube-system", "kube-node-lease", OWN, "legacy", "batch-nightly")
"""Namespaces that are out by these settings; their pods run as an account that asks for an identity."""

Times = dict[str, list[float]]
"""Milliseconds of the creations of each webhook."""
MIRROR: Json = {
    "metadata": {"name": "static", "annotations": {"kubernetes.io/config.mirror": "0"}},
    "spec": {"nodeName": "node-1", "containers": [{"name": "static", "image": "example.com/static:1"}]},
}


def measure(rig: Rig) -> list[Figure]:
    try:
        with planes.plane(rig, "cluster") as plane:
            _populate(plane)
            exclude = {"namespaces": ["kube-system", "kube-node-lease", *EXCLUDED], "hostNetwork": True}
            environment = planes.installation(plane, OWN, exclude=exclude, webhook={"failurePolicy": "Fail"})
            with planes.webhook(rig, environment, free=True) as webhook:
                return [*_added(rig, environment, webhook), _unconcerned(rig, environment, webhook)]
    except planes.FAILURES as problem:
        why = processes.clean(str(problem))
        return [
            figures.unmeasured(NAME, f"{ADDED}, plain pod", "ms", why, figures.ADDED),
            figures.unmeasured(NAME, UNCONCERNED, "", why, figures.NO_CALLS),
        ]


def _populate(plane: ControlPlane) -> None:
    """Namespaces and accounts for the pods that are none of our business."""
    seeding.put(plane.etcd.port, map(cluster.namespace, ("legacy", "batch-nightly")))
    seeding.put(plane.etcd.port, [cluster.account("aws", namespace=name) for name in OUTSIDE])


def _added(rig: Rig, environment: WebhookInstallation, webhook: Webhook) -> list[Figure]:
    creator = creation.pod_creator(environment.plane)
    entry = environment.register(webhook.port)
    environment.plane.admin.delete(environment.configuration)
    found: list[Figure] = []
    with closing(creator.connection()) as connection:
        for label, pod in PODS.items():
            _called(environment, creator, connection, pod, mutated=False)
            patches = {"same": rivals.patch_for(creator, connection, pod)}
            patches["least"] = msgspec.json.encode(rivals.LEAST)
            with rivals.undecided(rig, environment, patches) as port:
                urls = {who: f"https://127.0.0.1:{port}/{who}" for who in LABELS}
                urls["ours"] = entry["clientConfig"]["url"]
                with rivals.registered(environment, entry, urls):
                    for who in urls:
                        mutated = who in MUTATED
                        _called(environment, creator, connection, pod, who=who, mutated=mutated)
                    times = _turns(rig, creator, connection, pod)
            found += [_difference(who, label, times) for who in LABELS]
    return found


def _called(
    environment: WebhookInstallation,
    creator: PodCreator,
    connection: Connection,
    pod: Callable[..., bytes],
    *,
    who: str = "",
    mutated: bool,
) -> None:
    """Until the API server calls a webhook for this pod; nobody, if it names none. Raises Unavailable."""
    request = creator.create(pod(0, who=who), dry=True)
    deadline = time.perf_counter() + TURN_LIMIT
    while time.perf_counter() < deadline:
        before = _calls(environment)
        _ask(connection, request)
        if (_calls(environment) > before, creation.mutated(connection.answer)) == (bool(who), mutated):
            return
    raise Unavailable(f"registration not noticed in {TURN_LIMIT:g} s, want {who=}, {mutated=}")


def _turns(rig: Rig, creator: PodCreator, connection: Connection, pod: Callable[..., bytes]) -> Times:
    """Creations in turn, as many rounds as the lengths say."""
    times: Times = {who: [] for who in (*LABELS, NOBODY)}
    rounds = rig.lengths.turns * rig.lengths.creates
    requests = {
        who: [creator.create(pod(number, who=who), dry=True) for number in range(WARM)] for who in times
    }
    for number in range(-WARM, rounds):
        for who, created in requests.items():
            took = _ask(connection, created[number % WARM])
            if creation.mutated(connection.answer) is not (who in MUTATED):
                raise Unavailable(f"a pod of {who} in between is not as it should be")
            if number >= 0:
                times[who].append(took)
    return times


def _difference(who: str, pod: str, times: Times) -> Figure:
    p50, bare = statistics.median(times[who]), statistics.median(times[NOBODY])
    low, without = (statistics.quantiles(times[one], n=10)[0] for one in (who, NOBODY))
    label = f"{LABELS[who]}, {pod} pod"
    note = f"{p50:.2f} with, {bare:.2f} without, {len(times[who]):,} dry-run creates each; "
    note += f"p10 added {low - without:.2f}"
    print(f"  {label}: {p50 - bare:.2f} ms", flush=True)
    detail = {"with": p50, "without": bare, "p10 with": low, "p10 without": without}
    return Figure(NAME, label, p50 - bare, "ms", BARS.get((who, pod)), note, detail)


def _ask(connection: Connection, request: bytes) -> float:
    """Milliseconds until the answer. Raises Unavailable when it is not a success."""
    began = time.perf_counter()
    connection.send(request, began)
    status = connection.wait(creation.PATIENCE)
    took = (time.perf_counter() - began) * 1_000
    if status not in (200, 201):
        raise Unavailable(f"API server answers {status}: {connection.answer[-200:]!r}")
    return took


def _unconcerned(rig: Rig, environment: WebhookInstallation, webhook: Webhook) -> Figure:
    """Every kind of pod that selectors and conditions tell apart, many times, dry; and updates of a pod."""
    creator = creation.pod_creator(environment.plane)
    environment.register(webhook.port)
    planes.wait_called(environment)
    with closing(creator.connection()) as connection:
        _ask(connection, creator.create(creation.plain(0, "stays")))
        requests = {
            # the large pod, because a namespace of ours admits only pods that are restricted
            **{f"in {name}": creator.create(creation.large(0), namespace=name, dry=True) for name in OUTSIDE},
            "on the host network": creator.create(creation.plain(0, hostNetwork=True), dry=True),
            "mirror pod": creator.create(msgspec.json.encode(MIRROR), dry=True),
            "update": creator.patch("stays", b'{"metadata":{"labels":{"a":"b"}}}'),
        }
        counts: tuple[Callable[[], float], ...] = (
            lambda: _calls(environment),
            lambda: webhook.total("vestibule_admission_requests_total"),
        )
        before = [count() for count in counts]
        for request in requests.values():
            for _ in range(rig.lengths.unconcerned):
                _ask(connection, request)
        after = [count() for count in counts]
        # a count is worth something only if it moves when it should
        _ask(connection, creator.create(creation.plain(0), dry=True))
        if [count() for count in counts] != [seen + 1 for seen in after]:
            raise Unavailable("a pod that is our business was not counted once")
        calls = max(now - then for now, then in zip(after, before, strict=True))
    sent = len(requests) * rig.lengths.unconcerned
    note = f"of {sent:,}: {', '.join(requests)}"
    return Figure(NAME, UNCONCERNED, calls, "", figures.NO_CALLS, note)


def _calls(environment: WebhookInstallation) -> float:
    """Calls of our registration so far, as the API server counts."""
    text = environment.plane.admin.get("/metrics").body.decode()
    return samples.total(
        text, "apiserver_admission_webhook_request_total", lambda labels: labels.get("name") == WEBHOOK_NAME
    )
