"""Many hosted control planes beside one operator: how long until all are served, and what it costs to keep
them.

The management API server and the definition of HostedControlPlane are real, the operator is the process that
people run. Guests and replicas are light ones (`bench.guests`): they cost the other core as little as they
can, and every guest is an API server to the operator, with a kubeconfig, connections and watches of its own.
"""

from __future__ import annotations

import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.apiserver.hosted_environment import API, HYPERSHIFT, TENANT, hosted_control_plane
from tests.apiserver.webhook_installation import path_of
from tests.rig import definitions
from tests.rig.client import at
from tests.rig.controlplane import MASTERS, ControlPlane

from bench import figures, keeping, planes, processes
from bench.figures import Figure, Row
from bench.processes import Unavailable
from bench.rig import Rig
from vestibule.manifests import crds
from vestibule.operator.controllers.hosted import hosted_informers
from vestibule.operator.controllers.hosted.certificates import kubeconfig_text

NAME = "hosted control planes"
WORKERS = 16
LIMIT = 600.0
"""Seconds until all must be served."""
BASE = 12_000
"""The first port of the replicas: below the rig's, and below those that the kernel gives to connections."""
Json = dict[str, Any]


def measure(rig: Rig) -> list[Figure]:
    count = rig.lengths.guests
    rows: list[Row] = [
        (f"process start to {count} guests served", "s", None),
        ("calls for each guest until then", "", None),
        (f"memory with {count} (VmRSS)", "MiB", None),
        ("steady state: share of one core", "%", None),
        ("steady state: writes", "", figures.NO_WRITES),
    ]
    try:
        # every control plane has a Service
        addresses = {"service-cluster-ip-range": "10.0.0.0/20"}
        with planes.plane(rig, "hosted", aside=True, **addresses) as plane:
            found = _measured(rig, plane)
    except planes.FAILURES as problem:
        return figures.unfilled(NAME, rows, processes.clean(str(problem)))
    return figures.filled(NAME, rows, found)


def _measured(rig: Rig, plane: ControlPlane) -> list[tuple[float, str]]:
    """Values and notes, in the order of the table."""
    count, quiet = rig.lengths.guests, rig.lengths.quiet
    definitions.install(plane, definitions.HYPERSHIFT)
    for one in (crds.hosted_webhook(), crds.webhook()):
        plane.admin.apply(path_of(one), one, "bench", force=True).object  # noqa: B018 - raises
    plane.admin.wait(at("hostedwebhooks", api=API), lambda found: "items" in found)
    port, metrics = processes.free_port(), processes.free_port()
    _seed(rig, plane, port)
    pair, config = rig.pair, str(plane.kubeconfig())
    light = processes.python("bench.guests", str(port), str(BASE), str(pair.cert), str(pair.key), config)
    command = processes.python("vestibule", "operator", "--kubeconfig", config, "--namespace", "default")
    command += ["--no-leader-elect", "--only", "nobody", "--workers", str(WORKERS)]
    command += ["--hosted", "--hosted-all-namespaces", "--allow-loopback"]
    command += ["--resync", str(quiet * 1.25), "--metrics-addr", f"127.0.0.1:{metrics}"]
    with processes.running(light, rig.scratch / "guests.log", rig.split.loader) as hosted_clusters:
        processes.wait_until(hosted_clusters, lambda: processes.listens(port), 30)
        before, began = keeping.calls(plane), time.perf_counter()
        with processes.running(command, rig.scratch / "operator.log", rig.split.server) as operator:
            processes.wait_until(
                operator, lambda: keeping.available(metrics, "HostedWebhook") >= count, LIMIT, 0.2
            )
            took = time.perf_counter() - began
            near, inside = keeping.calls(plane) - before, _guest_calls(rig, port)
            print(f"  {count} guests served {took:.1f} s after the start", flush=True)
            share, writes, looks = keeping.steady(operator, metrics, quiet)
            memory = operator.rss_mib()
    return [
        (took, f"{WORKERS} workers; API server, etcd, guests and replicas share the other core"),
        (
            (near + inside) / count,
            f"{near / count:.1f} to the management cluster, watches and our own included",
        ),
        (memory, f"{min(count, hosted_informers.MOST)} guests have a watch of their own"),
        (share, f"{looks:.0f} looks in {quiet:g} s: every {quiet * 1.25:g} s, where the default is 300"),
        (writes, "in both clusters"),
    ]


def _seed(rig: Rig, plane: ControlPlane, port: int) -> None:
    """Namespaces with a control plane, its kubeconfig and the request for a webhook in each."""
    trusted = rig.pair.cert.read_text()

    def one(number: int) -> None:
        namespace = f"guest-{number}"
        client = plane.client(f"bench:{number % 4}", MASTERS)
        server = f"https://127.0.0.1:{port}/{namespace}"
        message = base64.b64encode(kubeconfig_text(server, trusted, {}).encode()).decode()
        secret = {"metadata": {"name": "service-network-admin-kubeconfig"}, "data": {"kubeconfig": message}}
        request = {
            "apiVersion": API,
            "kind": "HostedWebhook",
            "metadata": {"name": "webhook"},
            "spec": {
                "target": {"flavour": "hypershift", "name": "hcp"},
                "tenantId": TENANT,
                "image": "vestibule:bench",
                "url": f"https://127.0.0.1:{BASE + number}",
            },
        }
        for where, obj in (
            (at("namespaces"), {"metadata": {"name": namespace}}),
            (at("secrets", namespace), secret),
            (at("hostedcontrolplanes", namespace, api=HYPERSHIFT), hosted_control_plane(namespace)),
            (at("hostedwebhooks", namespace, api=API), request),
        ):
            client.create(where, obj).object  # noqa: B018 - raises

    began = time.perf_counter()
    with ThreadPoolExecutor(1) as pool:
        list(pool.map(one, range(rig.lengths.guests)))
    print(f"  {rig.lengths.guests} control planes made in {time.perf_counter() - began:.0f} s", flush=True)


def _guest_calls(rig: Rig, port: int) -> float:
    status, body = processes.exchange(f"127.0.0.1:{port}", "GET", "/", None, rig.trust)
    if status != 200:
        raise Unavailable(f"the guests answer {status}")
    return float(json.loads(body)["calls"])
