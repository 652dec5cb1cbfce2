"""ARO HCP clusters: from manifests to Available, one alone and many at once, and what it costs to keep them.

The API server, Cluster API's definitions and the operator are real; Azure Service Operator is the double of
the tests, which answers at once. One cluster goes through Cluster API's own manager, as a user's does. The
many have their owners from the beginning: that manager would take most of the time, and of the cores.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.aro import asokinds, manifests
from tests.aro.asodouble import AsoDouble, Pool
from tests.aro.environment import nodes, owned, said
from tests.aro.manifests import Wish
from tests.rig import build, catalogue, clusterapi
from tests.rig.client import at
from tests.rig.controlplane import MASTERS, ControlPlane
from tests.rig.toolchain import CannotBuild

from bench import cores, figures, keeping, planes, processes
from bench.figures import Figure, Row
from bench.processes import Child
from bench.rig import Rig
from vestibule.manifests import aro_crds, crds

NAME = "ARO HCP clusters"
WORKERS = 16
LIMIT = 300.0
"""Seconds until all must be available."""
ROUNDS = 3


def measure(rig: Rig) -> list[Figure]:
    count = rig.lengths.aro
    rows: list[Row] = [
        ("manifests to Available, one cluster", "s", figures.ARO_AVAILABLE),
        (f"{count} created at once to all Available", "s", None),
        ("calls of the operator for each until then", "", None),
        (f"memory with {count} (VmRSS)", "MiB", None),
        ("steady state: share of one core", "%", None),
        ("steady state: writes", "", figures.NO_WRITES),
    ]
    try:
        manager = build.ensure([catalogue.CLUSTER_API.name])[catalogue.CLUSTER_API.name]
        with planes.plane(rig, "aro", aside=True) as plane, cores.pinned(rig.split.loader):
            found = _measured(rig, plane, manager)
    except (*planes.FAILURES, CannotBuild, TimeoutError) as problem:
        return figures.unfilled(NAME, rows, processes.clean(str(problem)))
    return figures.filled(NAME, rows, found)


def _measured(rig: Rig, plane: ControlPlane, manager: Path) -> list[tuple[float, str]]:
    """Values and notes, in the order of the table."""
    count, quiet = rig.lengths.aro, rig.lengths.quiet
    clusterapi.install(plane)
    asokinds.install(plane)
    asokinds.served(plane, asokinds.IDENTITY_REFERENCE.definition())
    for one in (*aro_crds.definitions(), crds.webhook()):
        asokinds.served(plane, one)
    metrics = processes.free_port()
    credentials = plane.kubeconfig().read_bytes()  # the API server is its own guest
    made_nodes: list[Pool] = []

    def pooled(pool: Pool) -> None:
        nodes(plane.admin, pool)
        made_nodes.append(pool)

    with (
        AsoDouble(plane.kubeconfig("bench:aso", MASTERS), lambda *_: credentials, pooled=pooled) as aso,
        _operator(rig, plane, metrics, quiet) as operator,
    ):
        alone = _alone(plane, manager)
        before, done = keeping.calls(plane), aso.calls
        began = time.perf_counter()
        created = _seeded(plane, count)
        processes.wait_until(
            operator, lambda: keeping.available(metrics, "AROControlPlane") >= count + ROUNDS, LIMIT, 0.2
        )
        took = time.perf_counter() - began
        others = aso.calls - done + created + 3 * len(made_nodes)
        calls = keeping.calls(plane) - before - others
        print(f"  {count} clusters available after {took:.1f} s", flush=True)
        share, writes, looks = keeping.steady(operator, metrics, quiet)
        memory = operator.rss_mib()
    each = ", ".join(f"{one:.1f}" for one in alone)
    return [
        (statistics.median(alone), f"through Cluster API's manager; median of {each} s"),
        (took, f"{WORKERS} workers; API server, etcd, double and creation share the other core"),
        (calls / count, "8 embedded objects, 2 Secrets and 3 objects of its own each; watches included"),
        (memory, f"{count * 8} embedded objects, kept whole"),
        (share, f"{looks:.0f} looks in {quiet:g} s: every {quiet * 1.25:g} s, where the default is 300"),
        (writes, ""),
    ]


@contextmanager
def _operator(rig: Rig, plane: ControlPlane, metrics: int, quiet: float) -> Iterator[Child]:
    command = processes.python("vestibule", "operator", "--namespace", "default", "--aro", "--allow-loopback")
    command += ["--kubeconfig", str(plane.kubeconfig("bench:operator", MASTERS))]
    command += ["--no-leader-elect", "--no-issuers", "--only", "nobody", "--workers", str(WORKERS)]
    command += ["--resync", str(quiet * 1.25), "--metrics-addr", f"127.0.0.1:{metrics}"]
    with processes.running(command, rig.scratch / "aro-operator.log", rig.split.server) as child:
        ready = f"http://127.0.0.1:{metrics}/readyz"
        processes.wait_until(child, lambda: processes.answers_200(ready, rig.trust), 60)
        yield child


def _alone(plane: ControlPlane, manager: Path) -> list[float]:
    """Seconds from the manifests of one cluster to Available, several times."""
    part = clusterapi.beside(plane, manager)
    part.start()
    try:
        return [_one(plane, number) for number in range(ROUNDS)]
    finally:
        part.stop()


def _one(plane: ControlPlane, number: int) -> float:
    namespace, wish = f"alone-{number}", Wish(f"alone{number}")
    plane.admin.create(at("namespaces"), {"metadata": {"name": namespace}}).object  # noqa: B018 - raises
    began = time.perf_counter()
    for one in manifests.cluster(wish, namespace):
        plane.admin.create(manifests.path(one["kind"], namespace), one).object  # noqa: B018 - raises
    path = manifests.path("AROControlPlane", namespace, f"{wish.name}-cp")
    plane.admin.wait(path, lambda obj: said(obj, "Available").get("status") == "True", 60)
    return time.perf_counter() - began


def _seeded(plane: ControlPlane, count: int) -> int:
    """Namespaces with a cluster in each; the calls that took."""

    def one(number: int) -> None:
        namespace = f"many-{number}"
        admin = plane.client(f"bench:{number % 2}", MASTERS)
        admin.create(at("namespaces"), {"metadata": {"name": namespace}}).object  # noqa: B018 - raises
        owned(admin, Wish(f"many{number}"), namespace)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(count)))
    return count * 6
