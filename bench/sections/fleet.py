"""A cluster with 100,000 ServiceAccounts: memory, how long until they are known, who waits meanwhile.

The slowest admission is that of a process that is ready and serves a steady load while all accounts are
listed again, because its watch was too old: a proxy answers it 410, as an API server does after a
compaction. Memory with many is read after that second list, its high-water mark.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec
from tests.apiserver.webhook_installation import WebhookInstallation
from tests.rig.controlplane import ControlPlane
from tests.rig.faultproxy import FaultProxy
from tests.rig.faults import Status

from bench import accounts, cores, figures, planes, processes, seeding
from bench.figures import Figure, Row
from bench.loads import Load
from bench.planes import Webhook
from bench.processes import Unavailable
from bench.rig import Rig

NAME = "ServiceAccounts of a large cluster"
RATE = 200.0
"""Admissions per second meanwhile: one every 5 ms meets every pause that matters."""
SETTLE = 1.0
"""Seconds of rest before memory is read."""
AHEAD = 2.0
"""Seconds of load before the watch is ended; the first of them are the loader's warm-up."""
LIMIT = 120.0
"""Seconds until a process must know all accounts; the bar is an eighth of it."""
GONE = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
    b'"message":"too old resource version","reason":"Expired","code":410}}\n'
)


def measure(rig: Rig) -> list[Figure]:
    small, large = rig.lengths.fleet
    rows: list[Row] = [
        (f"memory with {small:,} (VmRSS)", "MiB", figures.FLEET_SMALL),
        (f"memory with {large:,} (VmRSS)", "MiB", figures.FLEET_LARGE),
        (f"process start to ready with {large:,}", "s", figures.SYNC),
        (f"slowest admission while {large:,} are listed", "ms", figures.SYNC_SLOWEST),
    ]
    try:
        with planes.plane(rig, "fleet", aside=True) as plane:
            found = _measured(rig, plane)
    except planes.FAILURES as problem:
        return figures.unfilled(NAME, rows, processes.clean(str(problem)))
    return figures.filled(NAME, rows, found)


def _measured(rig: Rig, plane: ControlPlane) -> list[tuple[float, str]]:
    """Values and notes, in the order of the table."""
    small, large = rig.lengths.fleet
    spaces = rig.lengths.spaces
    others = len(plane.admin.list("/api/v1/serviceaccounts"))
    seeding.put(plane.etcd.port, accounts.namespaces(spaces, rig.seed))
    _seed(rig, plane, range(small // spaces))
    environment = planes.installation(plane)
    _, few = _started(rig, environment, small + others)
    _seed(rig, plane, range(small // spaces, large // spaces))
    synced, once = _started(rig, environment, large + others)
    load, twice = _listed_again(rig, plane, environment, large + others)
    pace = f"of {load.requests:,} at {RATE:g}/s; p50 {load.p50:.2f} p99 {load.p99:.2f} ms"
    return [
        (few, f"in {spaces:,} namespaces; one in ten asks for an identity"),
        (twice, f"after two lists and load; {once:.0f} after one list"),
        (synced, "API server and etcd share the other core"),
        (load.worst, pace),
    ]


def _seed(rig: Rig, plane: ControlPlane, metrics: range) -> None:
    began = time.perf_counter()
    count = seeding.put(plane.etcd.port, accounts.accounts(rig.lengths.spaces, metrics, rig.seed))
    print(f"  {count:,} ServiceAccounts written in {time.perf_counter() - began:.0f} s", flush=True)
    _caught_up(plane, len(metrics) and (metrics[-1] + 1) * rig.lengths.spaces)


def _caught_up(plane: ControlPlane, count: int) -> None:
    """Until the API server itself knows what went into etcd behind its back. Raises Unavailable."""
    began = time.perf_counter()
    while time.perf_counter() < began + LIMIT:
        meta = msgspec.json.decode(plane.admin.get("/api/v1/serviceaccounts?limit=1").body)["metadata"]
        if 1 + meta.get("remainingItemCount", 0) >= count:
            return
        time.sleep(0.2)
    raise Unavailable(f"the API server does not know {count:,} ServiceAccounts after {LIMIT:g} s")


def _started(rig: Rig, environment: WebhookInstallation, count: int) -> tuple[float, float]:
    """Seconds from the start of a process until it is ready, and its memory."""
    began = time.perf_counter()
    with planes.webhook(rig, environment, LIMIT) as webhook:
        took = time.perf_counter() - began
        _must_know(webhook, count)
        time.sleep(SETTLE)
        memory = webhook.child.rss_mib()
    print(f"  {count:,} known {took:.1f} s after the start, {memory:.0f} MiB", flush=True)
    return took, memory


def _listed_again(
    rig: Rig, plane: ControlPlane, environment: WebhookInstallation, count: int
) -> tuple[Load, float]:
    """The load while everything is listed a second time, and the memory after it."""
    # the proxy is a thread of ours; it carries the whole list and must not do so on the webhook's core
    with cores.pinned(rig.split.loader), plane.proxy(environment.user, ()) as proxy:
        environment.kubeconfig = plane.kubeconfig(environment.user, url=proxy.url)
        with planes.webhook(rig, environment, LIMIT) as webhook:
            before = webhook.lists()
            load = _meanwhile(rig, webhook, lambda: _too_old(proxy), lambda: webhook.lists() > before)
            _must_know(webhook, count)
            time.sleep(SETTLE)
            return load, webhook.child.rss_mib()


def _too_old(proxy: FaultProxy) -> None:
    """Ends the watch; the next one is answered 410."""
    proxy.inject(Status(200, GONE), path="serviceaccounts.*watch=true", times=1)
    proxy.cut()


def _meanwhile(rig: Rig, webhook: Webhook, begin: Callable[[], None], over: Callable[[], bool]) -> Load:
    """A steady load, straight to the webhook, that begins before and ends after what happens.

    Raises Unavailable when that was not over in time: then the load has not seen all of it.
    """
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(rig.loader.steady, webhook.target(rig), RATE, 1, rig.lengths.sync)
        time.sleep(AHEAD)
        began = time.perf_counter()
        begin()
        while not over() and not running.done():
            time.sleep(0.2)
        took, late = time.perf_counter() - began, running.done()
        load = running.result()
    if late:
        raise Unavailable(f"the list was not over when the load of {rig.lengths.sync:g} s was")
    if load.errors:
        raise Unavailable(f"{load.errors} admissions failed meanwhile")
    print(f"  listed again in {took:.1f} s, slowest admission {load.worst:.1f} ms", flush=True)
    return load


def _must_know(webhook: Webhook, count: int) -> None:
    if (cached := webhook.cached()) != count:
        raise Unavailable(f"{cached:,} ServiceAccounts are known, want {count:,}")
