"""Minutes of 200 creations a second through the API server with failurePolicy Fail, none of them dry.

Errors and pods that passed without us are counted twice, by who creates the pods (every answer is looked at)
and by the API server. The bar is for the time the API server spends on our webhook, as it measures it: the
call, and the patch it applies. The whole creation is told beside it; on two cores that also run etcd and the
loader it shows the API server's own pauses. Therefore the same is measured, for a fifth of the time each,
with no webhook at all and with one that decides nothing and sends the same patch.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import pairwise

from tests.apiserver.webhook_installation import WebhookInstallation

from bench import creates, creation, figures, planes, processes, rivals, samples
from bench.creates import Tally
from bench.creation import PodCreator
from bench.figures import Figure, Row
from bench.planes import Webhook
from bench.rig import Rig
from vestibule.manifests.webhook_configurations import WEBHOOK_NAME

NAME = "200 creations/s through the API server"
RATE = 200.0
WARM = 3.0
"""Seconds of the same load before anything counts."""
WORDS = 5
"""Failures that are shown."""
BUCKETS = ("0.0", "0.005", "0.025", "0.1", "0.5", "1.0", "2.5")
"""Upper bounds of the API server's histogram, in seconds."""
_PREFIX = "apiserver_admission_webhook"
Counts = dict[str, float]


def measure(rig: Rig) -> list[Figure]:
    rows: list[Row] = [
        ("failed creations", "", figures.NO_ERRORS),
        ("pods without their identity", "", figures.NO_ERRORS),
        ("p99 of the webhook, as the API server counts", "ms", figures.WEBHOOK_P99),
        ("p99 of the whole creation", "ms", figures.WEBHOOK_P99),
        ("p99 of the whole creation, no webhook", "ms", None),
        ("p99 of the whole creation, same patch by a server that decides nothing", "ms", None),
    ]
    try:
        with planes.plane(rig, "endurance") as plane:
            environment = planes.installation(plane, webhook={"failurePolicy": "Fail"})
            with planes.webhook(rig, environment, free=True) as webhook:
                found = _measured(rig, environment, webhook)
        found += _rivals(rig)
    except planes.FAILURES as problem:
        return figures.unfilled(NAME, rows, processes.clean(str(problem)))
    return figures.filled(NAME, rows, found)


def _measured(rig: Rig, environment: WebhookInstallation, webhook: Webhook) -> list[tuple[float, str]]:
    """Values and notes, in the order of the table."""
    environment.register(webhook.port)
    planes.wait_called(environment)
    creator = creation.pod_creator(environment.plane)
    creates.Stream(creator, RATE, WARM).run(WARM, lambda _: None)
    before = _counts(environment)
    tally = creates.Stream(creator, RATE, rig.lengths.endurance).run(rig.lengths.endurance / 10, _report)
    counted = {name: count - before[name] for name, count in _counts(environment).items()}
    for words in tally.failures[:WORDS]:
        print(f"  {processes.clean(words)}", flush=True)
    created = len(tally.latencies)
    within = counted["0.005"] / max(1.0, counted["calls"])
    memory = webhook.child.rss_mib()
    return [
        (
            max(float(len(tally.failures)), counted["rejected"]),
            f"of {created + len(tally.failures):,} in {rig.lengths.endurance:g} s",
        ),
        (
            max(float(tally.unmutated), counted["failed open"], created - counted["calls"]),
            f"of {created:,}; {counted['failed open']:.0f} failed open as the API server counts",
        ),
        (_quantile(0.99, counted) * 1_000, f"{within:.1%} within 5 ms; our memory {memory:.0f} MiB"),
        (tally.quantile(0.99), f"p50 {tally.quantile(0.5):.1f}, slowest {tally.quantile(1.0):.0f} ms"),
    ]


def _rivals(rig: Rig) -> list[tuple[float, str]]:
    """Nobody, then the server that decides nothing."""
    found: list[tuple[float, str]] = []
    seconds = rig.lengths.endurance / 5
    with planes.plane(rig, "endurance-rivals") as plane:
        environment = planes.installation(plane, webhook={"failurePolicy": "Fail"})
        creator = creation.pod_creator(plane)
        found.append(_whole(creator, seconds))
        with closing(creator.connection()) as connection:
            patch = rivals.patch_for(creator, connection, creation.plain)
        with rivals.undecided(rig, environment, {"mutate": patch}) as port:
            environment.register(port)
            planes.wait_called(environment)
            found.append(_whole(creator, seconds))
    return found


def _whole(creator: PodCreator, seconds: float) -> tuple[float, str]:
    creates.Stream(creator, RATE, WARM).run(WARM, lambda _: None)
    tally = creates.Stream(creator, RATE, seconds).run(seconds, lambda _: None)
    note = f"p50 {tally.quantile(0.5):.1f}, slowest {tally.quantile(1.0):.0f} ms in {seconds:g} s, "
    note += f"{len(tally.failures)} failures"
    print(f"  whole creation: p99 {tally.quantile(0.99):.1f} ms, {note}", flush=True)
    return tally.quantile(0.99), note


def _report(tally: Tally) -> None:
    print(
        f"  {len(tally.latencies):,} created, p99 {tally.quantile(0.99):.1f} ms, "
        f"{len(tally.failures)} failures, {tally.unmutated} without identity",
        flush=True,
    )


def _counts(environment: WebhookInstallation) -> Counts:
    """What the API server counted about our webhook so far: calls, by bucket and by fate."""
    text = environment.plane.admin.get("/metrics").body.decode()

    def total(name: str, **wanted: str) -> float:
        return samples.total(text, f"{_PREFIX}_{name}", _labelled(name=WEBHOOK_NAME, **wanted))

    found = {bound: total("admission_duration_seconds_bucket", le=f"{float(bound):g}") for bound in BUCKETS}
    return {
        **found,
        "calls": total("admission_duration_seconds_count"),
        "rejected": total("rejection_count") - total("rejection_count", error_type="no_error"),
        "failed open": total("fail_open_count"),
    }


def _quantile(share: float, counted: Counts) -> float:
    """Seconds, by a straight line inside the bucket; the last bound when it lies beyond."""
    rank = share * counted["calls"]
    for lower, upper in pairwise(BUCKETS):
        if counted[upper] >= rank:
            inside = (rank - counted[lower]) / max(1.0, counted[upper] - counted[lower])
            return float(lower) + inside * (float(upper) - float(lower))
    return float(BUCKETS[-1])


def _labelled(**wanted: str) -> Callable[[samples.Labels], bool]:
    return lambda labels: all(labels.get(key) == value for key, value in wanted.items())
