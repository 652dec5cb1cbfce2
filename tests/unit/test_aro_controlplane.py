"""What an AROControlPlane says about its cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit import aro
from vestibule.api import conditions
from vestibule.aro import controlplane, embedded, names, ownership

Json = dict[str, Any]


def told(message: str) -> Json:
    """The condition of a cluster about which Azure Service Operator says this."""
    created = aro.objects(identity="", key_version="0123456789abcdef0123456789abcdef")
    cluster, infrastructure, plane = (created[kind] for kind in ("Cluster", "AROCluster", "AROControlPlane"))
    for one in created.values():
        one["metadata"] |= {"uid": one["kind"], "generation": 1}
    infrastructure["status"] = {"conditions": [{"type": names.RESOURCES_READY, "status": "True"}]}
    resources = embedded.resources(plane)
    kinds = embedded.render_owned([embedded.of(one) for one in resources])
    plane["metadata"] |= {
        "finalizers": [names.FINALIZERS["AROControlPlane"]],
        "annotations": {names.BLOCK_MOVE: "true", names.OWNED_KINDS: kinds},
        "ownerReferences": [ownership.owner_reference(cluster)],
    }
    hcp = embedded.every(resources, names.HCP)[0]
    ready = {"type": "Ready", "status": "False", "severity": "Error", "reason": "Failed", "message": message}
    live = {**hcp, "status": {"conditions": [{**ready, "observedGeneration": 1}]}}
    live["metadata"] = {
        **hcp["metadata"],
        "namespace": plane["metadata"]["namespace"],
        "uid": "live",
        "generation": 1,
        "ownerReferences": [ownership.owner_reference(plane)],
    }
    found = controlplane.decide(plane, aro.reader(cluster, infrastructure, plane, live))
    assert found.status is not None
    output = conditions.find(found.status["conditions"], names.HCP_READY)
    assert output is not None
    return dict(output)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("managed-service-identity-inflight check failed", True),
        ("the quota of the region is used up", False),
    ],
)
def test_a_cluster_that_came_before_its_roles_must_be_recreated(message: str, advice: bool) -> None:
    output = told(message)

    assert (output["status"], output["reason"]) == ("False", "Failed")
    assert output["message"].startswith(f"[Error] {message}")
    assert ("delete HcpOpenShiftCluster shop" in output["message"]) is advice
