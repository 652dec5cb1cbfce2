"""The glue to our own code: the only module of the bench that knows how the handler and the webhook are
started."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import cluster
from bench.pod import Json
from bench.processes import Unavailable
from vestibule.admission.review import DecodedReview
from vestibule.admission.verdict import Verdict
from vestibule.api.settings import schema
from vestibule.injection.policy import compile_policy
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.webhook.handler import Handler


class _Silent:
    """Nobody is told."""

    def verdict(self, review: DecodedReview, verdict: Verdict, seconds: float) -> None:
        """Nothing."""

    def malformed(self, status: int) -> None:
        """Nothing."""


Handle = Callable[[bytes], bytes]
"""Bytes of a review in, bytes of the answer out."""


def handlers(objects: Sequence[Json] | None = None) -> Callable[[], Handle]:
    """Makes handlers over objects, those of `bench.cluster` if none are given; each has seen no pod yet,
    while the policy behind them knows what the annotations ask for."""
    policy = compile_policy(schema.Settings())
    world = MemoryCluster(cluster.objects() if objects is None else objects)
    gc.freeze()  # as the webhook does when it has started

    def fresh() -> Handle:
        answer = Handler(lambda: policy, world, world, None, _Silent()).answer

        def handle(body: bytes) -> bytes:
            answered = answer(body)
            if not isinstance(answered, bytes):
                answered.close()
                raise Unavailable("a review of the bench needs a read")
            return answered

        return handle

    return fresh


def handler() -> Handle:
    """One handler over `bench.cluster.objects()`."""
    return handlers()()


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
