"""Granted is used, and used is granted: the rendered role for ARO HCP clusters against the audit log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apiserver.child_process import Running
from tests.apiserver.operator_installation import operator_installed
from tests.apiserver.used_permissions import used
from tests.aro import manifests
from tests.aro.environment import Cluster, Environment, poll, said
from tests.aro.operators import Azure, Operators
from tests.rig import process
from tests.rig.client import at
from tests.rig.controlplane import MASTERS
from vestibule.aro import garbage_collection
from vestibule.manifests import aro_rbac, operator

pytestmark = pytest.mark.xdist_group("aro")

UNSEEN = {
    # asked for by OpenShift's admission, which no plain API server has
    ("aroclusters/finalizers", "update"),
    ("arocontrolplanes/finalizers", "update"),
    ("aromachinepools/finalizers", "update"),
    # not embedded by these tests
    ("networksecuritygroups", "create"),
    ("networksecuritygroups", "delete"),
    ("networksecuritygroups", "list"),
    ("networksecuritygroups", "patch"),
    ("networksecuritygroups", "watch"),
}


@pytest.mark.slow
def test_granted_is_used(
    environment: Environment, azure: Azure, no_operator: Operators, tmp_path: Path
) -> None:
    with operator_installed(environment.plane, tmp_path, install={"aro": True}) as created:
        webhook_port = process.free_port()
        with pytest.MonkeyPatch.context() as patch:
            azure.simulated.environ(patch)
            running = created.start(
                *("--aro", "--allow-loopback", "--azure-cloud", str(azure.simulated.running.cloud)),
                *(
                    "--aro-webhook",
                    f"https://127.0.0.1:{webhook_port}",
                    "--aro-webhook-addr",
                    f"127.0.0.1:{webhook_port}",
                ),
            )
        process.wait("the operator to be ready", lambda: _ready(running), 30)
        name = f"{operator.name(created.settings)}-aro"
        cluster = Cluster(environment, identity="id1", auth=True, destination="elsewhere")
        azure.prepare(cluster, allowedNamespaces={"selector": {"matchLabels": {"a": "b"}}})
        environment.admin.patch(
            at("namespaces", name=cluster.namespace), {"metadata": {"labels": {"a": "b"}}}
        )
        objects = manifests.pool(cluster.wish, cluster.namespace)
        scaling = objects[1]["spec"]["resources"][0]["spec"]["properties"]
        scaling["autoScaling"] = {"min": 1, "max": 3}
        cluster.create(pool=False)
        environment.make(objects)
        cluster.available()
        cluster.until("AROControlPlane", "ExternalAuthReady")
        poll("MachinePools to be told who counts", lambda: _managed(cluster))
        environment.make(manifests.pool(cluster.wish, cluster.namespace, "np2"))
        second = manifests.path("AROMachinePool", cluster.namespace, f"{cluster.name}-np2")
        environment.admin.wait(second, lambda obj: said(obj, "Ready").get("status") == "True")
        environment.admin.delete(manifests.path("MachinePool", cluster.namespace, f"{cluster.name}-np2"))
        environment.admin.wait_gone(second)
        refusal = environment.admin.delete(cluster.path("AROMachinePool"))
        assert refusal.status == 403
        # the garbage collector is told about its owner, which is there
        collector = environment.plane.client(sorted(garbage_collection.COLLECTORS)[0], MASTERS)
        assert collector.delete(cluster.path("AROMachinePool")).status == 403
        cluster.delete()
        cluster.gone()
        done, refused = used(created)
        environment.admin.delete(
            at("validatingwebhookconfigurations", name=name, api="admissionregistration.k8s.io/v1")
        )
    granted = {
        (resource, verb)
        for rule in aro_rbac.rules(name)
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }

    assert refused == set()
    assert granted - done == UNSEEN


def _ready(running: Running) -> bool:
    try:
        return running.get("/readyz")[0] == 200
    except OSError:
        return False


def _managed(cluster: Cluster) -> bool:
    annotations = cluster.get("MachinePool")["metadata"].get("annotations") or {}
    return annotations.get("cluster.x-k8s.io/replicas-managed-by") == "aro-hcp"
