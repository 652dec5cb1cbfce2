"""Through the Service: replicas are found by their EndpointSlices, proven one by one, and called by the API
server under the Service's name. The API server goes to endpoints directly here, since nothing routes."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from tests.apiserver.admitted_pod import AWS
from tests.apiserver.operator_installation import operator_installed
from tests.rig import process
from tests.rig.client import at
from tests.rig.fixtures import Planes

Json = dict[str, Any]


def own_address() -> str:
    """An address of this machine that is not a loopback; an EndpointSlice takes no other. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


def test_a_replica_behind_the_service_is_proven_and_called(
    private_control_plane: Planes, tmp_path: Path
) -> None:
    plane = private_control_plane(flags={"enable-aggregator-routing": "true"})
    with operator_installed(plane, tmp_path) as environment:
        environment.ask(target={"type": "Service"})
        environment.start()
        address = own_address()
        environment.serve(address)
        reported = environment.wait("Available", "False", "DeploymentUnavailable")
        assert "no replica is ready" in reported["message"]
        part = {
            "metadata": {"name": "by-hand", "labels": {"kubernetes.io/service-name": environment.name}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": [{"name": "https", "port": environment.port, "protocol": "TCP"}],
        }
        where = at("endpointslices", environment.name, api="discovery.k8s.io/v1")
        environment.admin.create(where, part).object  # noqa: B018 - raises
        environment.wait("Available", "True")
        namespace = plane.namespace("served")
        pod = {
            "metadata": {"name": "p", "annotations": AWS},
            "spec": {"containers": [{"name": "app", "image": "a"}]},
        }

        def served() -> bool:
            created = environment.admin.create(at("pods", namespace), pod, dryRun="All").object
            return "cwii.dev/injected" in created["metadata"]["annotations"]

        process.wait("a pod with its identity", served, 15)
        found = environment.get("MutatingWebhookConfiguration")
        assert found is not None
        assert found["webhooks"][0]["clientConfig"]["service"]["name"] == environment.name
