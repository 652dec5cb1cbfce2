"""Through the real API server: what the webhook adds to the creation of a pod, and whom it is not called for.

One client creates pods one after the other (dry run), with the registration and without it in turns of a few
hundred; every pod is proven mutated, or not. Registration, selectors and conditions are as rendered. Most of
what is added is the API server's own work, so the same is measured for a server that decides nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import chain

import msgspec
from tests.apiserver.hall import Hall
from tests.rig.controlplane import ControlPlane

from bench import cluster, creation, figures, planes, processes, samples, seeding
from bench.connection import Connection
from bench.creation import Door
from bench.figures import Bar, Figure
from bench.planes import Webhook
from bench.pod import Json
from bench.processes import Unavailable
from bench.rig import Rig
from vestibule.core.native.admission import WEBHOOK_NAME

NAME = "through the API server"
ADDED, YES = "p50 added to a creation", "the same by a server that only says yes"
PODS: dict[str, Callable[[int], bytes]] = {"plain": creation.plain, "large": creation.large}
BARS = {("ours", "plain"): figures.ADDED}
UNCONCERNED = "calls for pods that no rule can concern"
START_LIMIT = 15.0
"""Seconds until a server must listen."""
TURN_LIMIT = 20.0
"""Seconds until the API server must have noticed a registration, or its end."""
WARM = 30
"""Creations of each pod before those that count."""
EXCLUDED = ("legacy", "batch-*")
OWN = "bench"
"""The namespace of the installation."""
OUTSIDE = ("kube-system", "kube-node-lease", OWN, "legacy", "batch-nightly")
"""Namespaces that are out by these settings; their pods run as an account that asks for an identity."""

Turns = list[list[float]]
"""Milliseconds of the creations of each turn."""
MIRROR: Json = {
    "metadata": {"name": "static", "annotations": {"kubernetes.io/config.mirror": "0"}},
    "spec": {"nodeName": "node-1", "containers": [{"name": "static", "image": "example.com/static:1"}]},
}


def measure(rig: Rig) -> list[Figure]:
    try:
        with planes.plane(rig, "cluster") as plane:
            _populate(plane)
            exclude = {"namespaces": ["kube-system", "kube-node-lease", *EXCLUDED], "hostNetwork": True}
            stand = planes.hall(plane, OWN, exclude=exclude, webhook={"failurePolicy": "Fail"})
            with planes.webhook(rig, stand) as webhook:
                with _yes(rig, stand) as port:
                    added = _added(rig, stand, webhook, port)
                return [*added, _unconcerned(rig, stand, webhook)]
    except planes.FAILURES as problem:
        why = processes.clean(str(problem))
        return [
            figures.unmeasured(NAME, f"{ADDED}, plain pod", "ms", why, figures.ADDED),
            figures.unmeasured(NAME, UNCONCERNED, "", why, figures.NO_CALLS),
        ]


@contextmanager
def _yes(rig: Rig, stand: Hall) -> Iterator[int]:
    """The port of a webhook that only says yes, with our certificate and on our core."""
    port, tls = processes.free_port(), stand.folder / "tls"
    command = processes.python("bench.yes_engine", str(port), str(tls / "tls.crt"), str(tls / "tls.key"))
    with processes.running(command, rig.scratch / "yes.log", rig.split.server) as child:
        processes.wait_until(child, lambda: processes.listens(port), START_LIMIT)
        yield port


def _populate(plane: ControlPlane) -> None:
    """Namespaces and accounts for the pods that are none of our business."""
    seeding.put(plane.etcd.port, map(cluster.namespace, ("legacy", "batch-nightly")))
    seeding.put(plane.etcd.port, [cluster.account("aws", namespace=name) for name in OUTSIDE])


def _added(rig: Rig, stand: Hall, webhook: Webhook, yes: int) -> list[Figure]:
    """Rounds of three turns: our webhook, one that only says yes, none."""
    door = creation.door(stand.plane)
    turns: dict[str, dict[str, Turns]] = {who: {pod: [] for pod in PODS} for who in ("ours", "yes", "none")}
    for _ in range(rig.lengths.turns):
        stand.register(webhook.port)
        _noticed(stand, door, called=True, mutated=True)
        _turn(rig, door, turns["ours"], mutated=True)
        stand.register(yes)
        _noticed(stand, door, called=True, mutated=False)
        _turn(rig, door, turns["yes"], mutated=False)
        stand.plane.admin.delete(stand.configuration)
        _noticed(stand, door, called=False, mutated=False)
        _turn(rig, door, turns["none"], mutated=False)
    return [
        _difference(f"{label}, {pod} pod", BARS.get((who, pod)), turns[who][pod], turns["none"][pod])
        for who, label in (("ours", ADDED), ("yes", YES))
        for pod in PODS
    ]


def _noticed(stand: Hall, door: Door, *, called: bool, mutated: bool) -> None:
    """Until the API server has noticed that the registration changed. Raises Unavailable."""
    request = door.create(creation.plain(0), dry=True)
    deadline = time.perf_counter() + TURN_LIMIT
    with closing(door.connection()) as connection:
        while time.perf_counter() < deadline:
            before = _calls(stand)
            _ask(connection, request)
            if (_calls(stand) > before, creation.mutated(connection.answer)) == (called, mutated):
                return
    raise Unavailable(f"registration not noticed in {TURN_LIMIT:g} s, want {called=}, {mutated=}")


def _turn(rig: Rig, door: Door, turns: dict[str, Turns], *, mutated: bool) -> None:
    """Notes the milliseconds of each creation."""
    with closing(door.connection()) as connection:
        for label, made in PODS.items():
            pods = [door.create(made(number), dry=True) for number in range(rig.lengths.creates)]
            for pod in pods[:WARM]:
                _ask(connection, pod)
            found = []
            for pod in pods:
                found.append(_ask(connection, pod))
                if creation.mutated(connection.answer) is not mutated:
                    raise Unavailable(f"a pod in between is not {mutated=}")
            turns[label].append(found)


def _difference(label: str, bar: Bar | None, with_us: Turns, without: Turns) -> Figure:
    p50, bare = (statistics.median(chain.from_iterable(turns)) for turns in (with_us, without))
    rounds = [statistics.median(a) - statistics.median(b) for a, b in zip(with_us, without, strict=True)]
    count = sum(map(len, with_us))
    note = f"{p50:.2f} with, {bare:.2f} without us, {count:,} dry-run creates each; "
    note += f"rounds {min(rounds):.2f} to {max(rounds):.2f}"
    print(f"  {label}: p50 {p50:.2f} ms with the webhook, {bare:.2f} ms without", flush=True)
    return Figure(NAME, label, p50 - bare, "ms", bar, note, {"with": p50, "without": bare})


def _ask(connection: Connection, request: bytes) -> float:
    """Milliseconds until the answer. Raises Unavailable when it is not a success."""
    began = time.perf_counter()
    connection.send(request, began)
    status = connection.wait(creation.PATIENCE)
    took = (time.perf_counter() - began) * 1_000
    if status not in (200, 201):
        raise Unavailable(f"API server answers {status}: {connection.answer[-200:]!r}")
    return took


def _unconcerned(rig: Rig, stand: Hall, webhook: Webhook) -> Figure:
    """Every kind of pod that selectors and conditions tell apart, many times, dry; and updates of a pod."""
    door = creation.door(stand.plane)
    stand.register(webhook.port)
    planes.wait_called(stand)
    with closing(door.connection()) as connection:
        _ask(connection, door.create(creation.plain(0, "stays")))
        requests = {
            # the large pod, because a namespace of ours admits only pods that are restricted
            **{f"in {name}": door.create(creation.large(0), namespace=name, dry=True) for name in OUTSIDE},
            "on the host network": door.create(creation.plain(0, hostNetwork=True), dry=True),
            "mirror pod": door.create(msgspec.json.encode(MIRROR), dry=True),
            "update": door.patch("stays", b'{"metadata":{"labels":{"a":"b"}}}'),
        }
        counts: tuple[Callable[[], float], ...] = (
            lambda: _calls(stand),
            lambda: webhook.total("vestibule_admission_requests_total"),
        )
        before = [count() for count in counts]
        for request in requests.values():
            for _ in range(rig.lengths.unconcerned):
                _ask(connection, request)
        after = [count() for count in counts]
        # a count is worth something only if it moves when it should
        _ask(connection, door.create(creation.plain(0), dry=True))
        if [count() for count in counts] != [seen + 1 for seen in after]:
            raise Unavailable("a pod that is our business was not counted once")
        calls = max(now - then for now, then in zip(after, before, strict=True))
    sent = len(requests) * rig.lengths.unconcerned
    note = f"of {sent:,}: {', '.join(requests)}"
    return Figure(NAME, UNCONCERNED, calls, "", figures.NO_CALLS, note)


def _calls(stand: Hall) -> float:
    """Calls of our registration so far, as the API server counts."""
    text = stand.plane.admin.get("/metrics").body.decode()
    return samples.total(
        text, "apiserver_admission_webhook_request_total", lambda labels: labels.get("name") == WEBHOOK_NAME
    )
