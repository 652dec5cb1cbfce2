"""The EKS pod identity webhook as a peer: its pinned version, its binary, its command line.

v0.6.17 is the newest tag; it answers without apiVersion and kind, which costs it nothing and us nothing to
time. It listens on every interface, because it has no flag for an address; the bench only ever calls
127.0.0.1.
"""

from __future__ import annotations

from pathlib import Path

from bench import toolchain

VERSION = "v0.6.17"
PACKAGE = "github.com/aws/amazon-eks-pod-identity-webhook"
GO = (1, 26, 3)
"""The Go that bench/peers/eks/go.mod asks for."""


def binary() -> Path:
    """Its binary, built if need be. Raises processes.Unavailable with the reason."""
    return toolchain.build("eks", PACKAGE, VERSION, GO)


def command(
    program: Path, *, port: int, metrics_port: int, api_port: int, cert: Path, key: Path
) -> list[str]:
    return [
        str(program),
        "--in-cluster=false",
        f"--kube-api=http://127.0.0.1:{api_port}",
        f"--port={port}",
        f"--metrics-port={metrics_port}",
        f"--tls-cert={cert}",
        f"--tls-key={key}",
        "--aws-default-region=eu-central-1",
    ]
