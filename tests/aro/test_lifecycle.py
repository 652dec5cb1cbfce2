"""The life of a cluster, from its manifests to nothing, in both ways to log in to Azure."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.aro import asokinds
from tests.aro.environment import LABEL, Cluster, Environment, poll, said
from tests.aro.manifests import KEY_VERSION
from tests.aro.operators import Azure, Operators
from tests.aro.watch_history import WatchHistory, condition
from tests.rig.client import at

pytestmark = pytest.mark.xdist_group("aro")

Json = dict[str, Any]
KMS = "etcd.dataEncryption.customerManaged.kms.activeKey.version"
OWNERS = ("AROCluster", "AROControlPlane", "AROMachinePool")
OWNER_OF = {
    "HcpOpenShiftCluster": "AROControlPlane",
    "HcpOpenShiftClustersExternalAuth": "AROControlPlane",
    "HcpOpenShiftClustersNodePool": "AROMachinePool",
}
MODES = {"credentials of Azure Service Operator": "", "identity": "id1"}


def deep(obj: Json, path: str) -> Any:
    found: Any = obj
    for part in path.split("."):
        found = (found or {}).get(part)
    return found


def key_version(cluster: Cluster) -> str:
    return str(deep(cluster.get("HcpOpenShiftCluster"), f"spec.properties.{KMS}"))


def seen(cluster: Cluster) -> bool:
    """Whether the control plane tells of the present generation of its cluster, and that it is ready."""
    generation = cluster.get("HcpOpenShiftCluster")["metadata"]["generation"]
    listed = cluster.get("AROControlPlane")["status"]["resources"]
    found = next(one for one in listed if one["resource"]["kind"] == "HcpOpenShiftCluster")
    return bool(found["ready"] and found.get("observedGeneration") == generation)


def made(environment: Environment, azure: Azure, identity: str, **wish: Any) -> Cluster:
    cluster = Cluster(environment, identity=identity, **wish)
    if identity:
        azure.prepare(cluster)
    return cluster


@pytest.mark.slow
@pytest.mark.parametrize("identity", MODES.values(), ids=MODES)
def test_the_ten_steps_happen_in_order(
    environment: Environment, azure: Azure, operator: Operators, identity: str
) -> None:
    cluster = made(environment, azure, identity)
    chronicle = WatchHistory(cluster)
    cluster.create()
    cluster.available()
    cluster.until("Cluster", "RemoteConnectionProbe")
    chronicle.read(
        "Cluster", "AROCluster", "AROControlPlane", "Secret", *(one.kind for one in asokinds.KINDS)
    )
    first = chronicle.first
    infrastructure = [
        first(kind.kind, bool)
        for kind in (asokinds.GROUP, asokinds.NETWORK, asokinds.SUBNET, asokinds.VAULT, asokinds.ROLE)
    ]
    steps = {
        "infrastructure created": max(infrastructure),
        "ResourcesReady": first("AROCluster", condition("ResourcesReady")),
        "HcpOpenShiftCluster created": first("HcpOpenShiftCluster", bool),
        "HcpOpenShiftCluster ready": first("HcpOpenShiftCluster", condition("Ready")),
        "HcpClusterReady": first("AROControlPlane", condition("HcpClusterReady")),
        "AROControlPlane ready": first("AROControlPlane", lambda obj: deep(obj, "status.ready")),
        "AROCluster ready": first("AROCluster", lambda obj: deep(obj, "status.ready")),
        "provisioned": first("AROCluster", lambda obj: deep(obj, "status.initialization.provisioned")),
        "InfrastructureProvisioned": first(
            "Cluster", lambda obj: deep(obj, "status.initialization.infrastructureProvisioned")
        ),
        "Cluster API connects": first("Cluster", condition("RemoteConnectionProbe")),
    }
    secret = first("Secret", lambda obj: obj["metadata"]["name"] == f"{cluster.name}-kubeconfig")

    assert list(steps.values()) == sorted(steps.values()), steps
    # Azure Service Operator writes it before it says that the cluster is ready
    assert steps["HcpOpenShiftCluster created"] < secret < steps["HcpClusterReady"]
    assert steps["AROCluster ready"] == steps["provisioned"]
    order = {kind.kind: first(kind.kind, bool) for kind in asokinds.KINDS[:3]}
    assert order["ResourceGroup"] < order["VirtualNetwork"] < order["VirtualNetworksSubnet"]
    cluster.delete()
    cluster.gone()


@pytest.mark.slow
@pytest.mark.parametrize("identity", MODES.values(), ids=MODES)
def test_a_whole_life(environment: Environment, azure: Azure, operator: Operators, identity: str) -> None:
    cluster = made(environment, azure, identity, auth=True)
    began = time.monotonic()
    cluster.create()
    cluster.until("AROControlPlane", "Available")
    took = time.monotonic() - began
    cluster.available()

    # the bar of the bench is 5 s; a machine that does other things may take longer
    assert took < 15, f"took {took:.1f} s"

    # as Cluster API wants it
    full = cluster.wait("Cluster", lambda obj: obj["status"].get("phase") == "Provisioned")
    assert full["spec"]["controlPlaneEndpoint"] == {"host": f"api.{cluster.name}.example.com", "port": 6443}
    cluster.until("Cluster", "Available")
    cluster.until("AROControlPlane", "ExternalAuthReady")
    expected = (("InfrastructureReady", "True"), ("ControlPlaneAvailable", "True"))
    assert [(kind, said(cluster.get("Cluster"), kind)["status"]) for kind, _ in expected] == list(expected)
    encryption = said(cluster.get("AROControlPlane"), "EncryptionKeyReady")
    if identity:
        assert (encryption["status"], encryption["reason"]) == ("True", "KeyReady")
        assert key_version(cluster) in encryption["message"]
    else:
        assert (encryption["status"], encryption["reason"]) == ("Unknown", "ManualKeyManagement")
        assert key_version(cluster) == KEY_VERSION
        assert azure.calls(cluster) == []

    # scale
    nodes = at("nodes")
    cluster.patch("MachinePool", {"spec": {"replicas": 3}})
    pool = cluster.wait("AROMachinePool", lambda obj: len(obj["spec"].get("providerIDList") or ()) == 3)
    cluster.wait("MachinePool", lambda obj: len(obj["spec"].get("providerIDList") or ()) == 3)
    listed = environment.guest.admin.list(nodes, labelSelector=f"{LABEL}={cluster.name[:10]}-x-np")
    assert pool["spec"]["providerIDList"] == sorted(one["spec"]["providerID"] for one in listed)
    assert cluster.wait("AROMachinePool", lambda obj: obj["status"].get("replicas") == 3)

    # version
    cluster.patch("MachinePool", {"spec": {"template": {"spec": {"version": "v4.20.9"}}}})
    cluster.wait("AROMachinePool", lambda obj: obj["status"].get("version") == "4.20.9")
    upgraded = cluster.get("AROControlPlane")["spec"]["resources"]
    upgraded[0]["spec"]["properties"]["version"]["id"] = "4.21"
    cluster.patch("AROControlPlane", {"spec": {"resources": upgraded}})
    cluster.wait("AROControlPlane", lambda obj: obj["status"].get("version") == "4.21.8")

    # a new version of the key
    if identity:
        version = azure.rotate(cluster)
    else:
        version = "fedcba9876543210"
        upgraded[0]["spec"]["properties"]["etcd"]["dataEncryption"]["customerManaged"]["kms"]["activeKey"][
            "version"
        ] = version
        cluster.patch("AROControlPlane", {"spec": {"resources": upgraded}})
    poll("the new version of the key", lambda: key_version(cluster) == version)
    poll("the cluster to be ready with it", lambda: seen(cluster))
    cluster.available()

    # what Prometheus reads
    shown = operator.ensure().get("/metrics")[1]
    for phase in ("infrastructure", "cluster", "available", "provisioned", "pool"):
        assert f'vestibule_aro_phase_seconds_count{{phase="{phase}"}}' in shown
    assert 'vestibule_aro_resources{kind="AROCluster",state="ready"}' in shown
    named = f'cluster="{cluster.namespace}/{cluster.name}-cp"'
    assert f"vestibule_aro_kubeconfig_end_seconds{{{named}}}" in shown
    assert (f'vault="{cluster.name}-vault"' in shown) is bool(identity)

    # pause and resume
    before = cluster.embedded()
    pausing = WatchHistory(cluster)
    cluster.patch("Cluster", {"spec": {"paused": True}})
    for kind in ("AROCluster", "AROControlPlane", "AROMachinePool"):
        paused = cluster.until(kind, "Paused")
        assert "clusterctl.cluster.x-k8s.io/block-move" not in paused["metadata"]["annotations"]
        assert paused["status"]["ready"] is True
    carried = [kind.kind for kind in asokinds.KINDS if kind is not asokinds.SECURITY_GROUP]
    pausing.read("AROCluster", "AROControlPlane", "AROMachinePool", *carried)
    lifted = {owner: pausing.first(owner, movable) for owner in OWNERS}
    for kind in carried:
        # nothing may be moved that Azure Service Operator still looks after
        assert pausing.first(kind, policy) < lifted[OWNER_OF.get(kind, "AROCluster")]
    during = cluster.embedded()
    assert {name: policy(one) for name, one in during.items()} == dict.fromkeys(before, "skip")
    assert {name: kept(one) for name, one in during.items()} == {
        name: kept(one) for name, one in before.items()
    }
    cluster.patch("Cluster", {"spec": {"paused": False}})
    for kind in ("AROCluster", "AROControlPlane", "AROMachinePool"):
        cluster.until(kind, "Paused", "False")
    poll("all policies to go", lambda: not any(map(policy, cluster.embedded().values())))
    after = cluster.embedded()
    assert {name: kept(one) for name, one in after.items()} == {
        name: kept(one) for name, one in before.items()
    }

    # delete
    cluster.delete()
    cluster.gone()
    poll("nothing to be left", lambda: not cluster.embedded())
    gone = cluster.in_azure()
    assert sorted(gone) == sorted(before)
    place = {one.partition("/")[0]: number for number, one in enumerate(gone)}
    assert place["HcpOpenShiftCluster"] < min(place["VirtualNetworksSubnet"], place["ResourceGroup"])
    requested = {one.partition("/")[0]: number for number, one in enumerate(cluster.deletion_requested())}
    assert requested["HcpOpenShiftClustersExternalAuth"] < requested["HcpOpenShiftCluster"]
    assert requested["HcpOpenShiftCluster"] < requested["VirtualNetworksSubnet"] < requested["VirtualNetwork"]
    assert requested["VirtualNetwork"] < requested["ResourceGroup"]
    failures = [
        line
        for line in operator.log().splitlines()
        if cluster.namespace in line and ("reconcile failed" in line or "reconcile broken" in line)
    ]
    assert failures == []


def movable(obj: Json) -> bool:
    return "clusterctl.cluster.x-k8s.io/block-move" not in (obj["metadata"].get("annotations") or {})


def policy(obj: Json) -> str | None:
    found: str | None = (obj["metadata"].get("annotations") or {}).get(
        "serviceoperator.azure.com/reconcile-policy"
    )
    return found


def kept(obj: Json) -> Json:
    """What a pause must not touch."""
    meta = obj["metadata"]
    references = sorted(meta["ownerReferences"], key=lambda one: str(one["uid"]))
    return {"spec": obj["spec"], "generation": meta["generation"], "owners": references, "uid": meta["uid"]}
