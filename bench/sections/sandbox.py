"""Sandboxes by 200 rules over 2,000 namespaces: handler µs, and latency at a steady 1,000 requests/s.

Nothing helps from one request to the next but what a policy may work out once: see `bench.sandboxes`. All
answers of the handler, and some of the server's, are proven before anything is timed.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from bench import answers, cores, figures, fixtures, loads, processes, sandboxes, subject
from bench.figures import Figure, Row
from bench.loads import Target
from bench.processes import Unavailable
from bench.rig import Rig
from vestibule.admission.review import DecodedReview
from vestibule.admission.verdict import Verdict
from vestibule.api.settings import schema
from vestibule.injection.policy import compile_policy
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.kube.policy_sources import PolicySources
from vestibule.webhook.handler import Handler

NAME = f"sandboxes, {sandboxes.RULES} rules, {sandboxes.SPACES:,} namespaces"
RATE = 1_000.0
SETTINGS = {"sandbox": {"enabled": True}}
START_LIMIT = 60.0
"""Seconds until the server must have read all manifests; it needs 3."""
PROVEN = 50
"""Answers of the server that are looked at."""
ROWS: tuple[Row, ...] = (
    ("handler, no I/O", "µs", None),
    ("p50 at 1,000 requests/s, evenly", "ms", None),
    ("p99 at 1,000 requests/s, evenly", "ms", figures.SANDBOX_P99),
)


def measure(rig: Rig) -> list[Figure]:
    try:
        found = [_handler(rig), *_steady(rig)]
    except (Unavailable, loads.Failed, answers.Wrong, OSError) as problem:
        return figures.unfilled(NAME, ROWS, processes.clean(str(problem)))
    return figures.filled(NAME, ROWS, found)


def _handler(rig: Rig) -> tuple[float, str]:
    """µs per review: every repetition sends each once, and the best pass of it counts, as for the others."""
    handle, bodies = _handle(), sandboxes.bodies(rig.seed)
    for body in bodies:
        sandboxes.must_be_sandboxed(body, handle(body))
    bests = []
    with cores.pinned(rig.split.server):
        for _ in range(rig.lengths.repetitions):
            passes = []
            for _ in range(rig.lengths.batches):
                began = time.perf_counter()
                for body in bodies:
                    handle(body)
                passes.append((time.perf_counter() - began) * 1e6 / len(bodies))
            bests.append(min(passes))
    return statistics.median(bests), f"{min(bests):.1f} to {max(bests):.1f}, no two pods alike"


class _Silent:
    """Nobody is told."""

    def verdict(self, review: DecodedReview, verdict: Verdict, seconds: float) -> None:
        """Nothing."""

    def malformed(self, status: int) -> None:
        """Nothing."""


def _handle() -> Callable[[bytes], bytes]:
    cluster, settings = MemoryCluster(sandboxes.objects()), schema.parse(SETTINGS, "bench")
    supplements = PolicySources(cluster)
    asyncio.run(supplements.look(settings))
    policy = compile_policy(supplements.applied(settings), (), supplements.kata_policy(settings))
    answer = Handler(lambda: policy, cluster, cluster, None, _Silent()).answer

    def handle(body: bytes) -> bytes:
        answered = answer(body)
        if not isinstance(answered, bytes):
            answered.close()
            raise Unavailable("a review of the bench needs a read")
        return answered

    return handle


def _steady(rig: Rig) -> list[tuple[float, str]]:
    """p50 and p99, medians over the rounds."""
    with _server(rig) as target:
        runs = [
            rig.loader.steady(target, RATE, 1, rig.lengths.steady) for _ in range(rig.lengths.steady_rounds)
        ]
    errors = sum(load.errors for load in runs)
    if errors:
        raise Unavailable(f"{errors} requests failed")
    reached = statistics.median(load.per_second for load in runs)
    busy = statistics.median(load.server_cpu for load in runs)
    note = f"{reached:,.0f}/s answered, core {busy:.0%}"
    p50, p99 = (
        statistics.median(values) for values in zip(*((run.p50, run.p99) for run in runs), strict=True)
    )
    rounds = ", ".join(f"{run.p99:.2f}" for run in runs)
    return [(p50, note), (p99, f"{note}; rounds {rounds}")]


@contextmanager
def _server(rig: Rig) -> Iterator[Target]:
    """Our webhook over a directory with all of it, proven to do its work."""
    folder, settings = rig.scratch / "sandboxes", rig.scratch / "sandboxes.json"
    folder.mkdir()
    everything = {"apiVersion": "v1", "kind": "List", "items": list(sandboxes.objects())}
    (folder / "all.json").write_bytes(msgspec.json.encode(everything))
    settings.write_bytes(msgspec.json.encode(SETTINGS))
    port, metrics = processes.free_port(), processes.free_port()
    command = [
        *subject.webhook_command(port, metrics, folder, rig.pair.cert, rig.pair.key),
        "--settings",
        str(settings),
    ]
    log = rig.scratch / "sandboxes.log"
    with processes.running(command, log, rig.split.server, subject.webhook_environment()) as child:
        url = subject.ready_url(port, metrics)
        processes.wait_until(child, lambda: processes.answers_200(url, rig.trust), START_LIMIT)
        for body in sandboxes.bodies(rig.seed)[:PROVEN]:
            status, answer = processes.exchange(f"127.0.0.1:{port}", "POST", fixtures.PATH, body, rig.trust)
            if status != 200:
                raise Unavailable(f"answers {status}: {answer[:120]!r}")
            sandboxes.must_be_sandboxed(body, answer)
        yield Target(child, port, rig.pair.cert, rig.seed, sandboxes.SHAPE)
