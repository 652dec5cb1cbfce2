"""The glue to our own code: the only module of the bench that knows how the handler and the webhook are
started."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from bench.processes import Unavailable


def handler() -> Callable[[bytes], bytes]:
    """The pure path over `bench.cluster.objects()`: bytes of a review in, bytes of the answer out.

    Raises Unavailable while there is none.
    """
    raise Unavailable("bench/subject.py: handler() is not wired to vestibule.apps.webhook yet")


def webhook_command(port: int, metrics_port: int, cluster_dir: Path, cert: Path, key: Path) -> list[str]:
    """The command line of our webhook over a directory of manifests, metrics and audit on."""
    return [
        sys.executable,
        "-m",
        "vestibule.apps.webhook",
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


def webhook_environment() -> dict[str, str]:
    """What our image sets beside the command line."""
    return {}


def ready_url(port: int, metrics_port: int) -> str:
    """Where the webhook says that it is ready; https is checked against the serving certificate."""
    del metrics_port
    return f"https://127.0.0.1:{port}/readyz"
