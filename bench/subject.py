"""The glue to our own code: the only module of the bench that knows how the handler and the webhook are
started."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench import cluster
from bench.processes import Unavailable
from vestibule.adapters.cluster import gather
from vestibule.adapters.cluster.memory import MemoryCluster
from vestibule.core.admission import review as reviews
from vestibule.core.kinds import config
from vestibule.core.mutation import pipeline
from vestibule.core.mutation.policy import compile_policy


def handler() -> Callable[[bytes], bytes]:
    """The pure path over `bench.cluster.objects()`: bytes of a review in, bytes of the answer out."""
    policy = compile_policy(config.Settings())
    crowd = gather.Crowd(MemoryCluster(cluster.objects()))

    def handle(body: bytes) -> bytes:
        review = reviews.decode(body)
        request = review.request
        verdict = pipeline.early(request, policy)
        if verdict is None and request.object is not None:
            facts = crowd.facts(request, request.object, policy.rules, time.perf_counter())
            verdict = pipeline.decide(request, facts, policy, body)
        if verdict is None:
            raise Unavailable("a review of the bench holds no pod")
        return reviews.encode(review, verdict)

    return handle


def webhook_command(port: int, metrics_port: int, cluster_dir: Path, cert: Path, key: Path) -> list[str]:
    """The command line of our webhook over a directory of manifests, metrics and audit on."""
    return [
        sys.executable,
        "-m",
        "vestibule",
        "webhook",
        "--cluster",
        str(cluster_dir),
        "--addr",
        f"127.0.0.1:{port}",
        "--metrics-addr",
        f"127.0.0.1:{metrics_port}",
        "--tls-cert",
        str(cert),
        "--tls-key",
        str(key),
    ]


def live_command(
    port: int, metrics_port: int, kubeconfig: Path, settings: Path, cert: Path, key: Path
) -> list[str]:
    """The same over an API server, as a pod of ours would be started."""
    return [
        sys.executable,
        "-m",
        "vestibule",
        "webhook",
        "--kubeconfig",
        str(kubeconfig),
        "--settings",
        str(settings),
        "--addr",
        f"127.0.0.1:{port}",
        "--metrics-addr",
        f"127.0.0.1:{metrics_port}",
        "--tls-cert",
        str(cert),
        "--tls-key",
        str(key),
    ]


def webhook_environment() -> dict[str, str]:
    """What our image sets beside the command line."""
    return {}


def ready_url(port: int, metrics_port: int) -> str:
    """Where the webhook says that it is ready; https is checked against the serving certificate."""
    del metrics_port
    return f"https://127.0.0.1:{port}/readyz"
