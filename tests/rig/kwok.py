"""kwok: plays the kubelets of fake nodes, so that pods run without a container being started.

What happens to a node and a pod stands in ``stages.yaml``. Only nodes that ``node`` describes are played.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.rig.client import Object, healthy
from tests.rig.part import Part

_MARK = "kwok.x-k8s.io/node"
_STAGES = Path(__file__).resolve().parent / "stages.yaml"


def node(name: str) -> Object:
    """A node that kwok makes ready and on which it runs pods."""
    metadata = {"name": name, "annotations": {_MARK: "fake"}, "labels": {"kubernetes.io/hostname": name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


class Kwok(Part):
    """Ready when its own /healthz says so."""

    name = "kwok"

    def __init__(self, binary: Path, folder: Path, *, kubeconfig: Callable[[], Path], **options: Any) -> None:
        super().__init__(binary, folder, **options)
        self._kubeconfig = kubeconfig

    def command(self) -> list[str]:
        return [
            str(self.binary),
            f"--kubeconfig={self._kubeconfig()}",
            "--manage-all-nodes=false",
            f"--manage-nodes-with-annotation-selector={_MARK}=fake",
            "--node-lease-duration-seconds=40",
            f"--server-address=127.0.0.1:{self.port}",
            f"--config={_STAGES}",
        ]

    def ready(self) -> bool:
        return healthy(f"http://127.0.0.1:{self.port}", "/healthz", None)
