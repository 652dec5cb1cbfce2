"""Nothing is torn down that nobody asked to delete: what lost its owner, and what is paused."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.aro import manifests
from tests.aro.environment import Cluster, Environment, Operator, poll, said
from tests.aro.operators import Operators
from tests.rig.client import at
from tests.rig.controlplane import MASTERS
from vestibule.aro import garbage_collection, reviews

pytestmark = pytest.mark.xdist_group("aro")

Json = dict[str, Any]
OURS = ("AROMachinePool", "AROControlPlane", "AROCluster")
CONFIRM = "vestibule.dev/delete-without-cluster"


def taken_away(cluster: Cluster) -> None:
    """The Cluster and its MachinePool go without their finalizers, as when they are moved elsewhere."""
    for kind in ("MachinePool", "Cluster"):
        cluster.patch(kind, {"metadata": {"finalizers": None}})
        cluster.admin.delete(cluster.path(kind), propagationPolicy="Background")
        cluster.admin.wait_gone(cluster.path(kind))


def untouched(cluster: Cluster) -> bool:
    """Whether no embedded object is gone, or going."""
    found = cluster.embedded()
    going = [name for name, one in found.items() if one["metadata"].get("deletionTimestamp")]
    return len(found) == 8 and not going and cluster.in_azure() == []


@pytest.mark.parametrize("user", sorted(garbage_collection.COLLECTORS))
def test_the_garbage_collector_deletes_nothing_that_lost_its_owner(
    environment: Environment, operator: Operators, user: str
) -> None:
    cluster = Cluster(environment).create()
    cluster.available()
    taken_away(cluster)
    collector = environment.plane.client(user, MASTERS)
    for kind in OURS:
        answer = collector.delete(cluster.path(kind))
        assert (answer.status, answer.json["reason"]) == (403, "Forbidden")
        assert "nobody asked to delete it" in answer.message
        reported = cluster.until(kind, "Ready", "False", "OwnerMissing")
        assert "nothing is changed and nothing deleted" in said(reported, "Ready")["message"]
        assert "deletionTimestamp" not in reported["metadata"]
    assert untouched(cluster)
    # a person's word counts, without the Cluster, too
    for kind in OURS:
        assert environment.admin.delete(cluster.path(kind)).status == 200
    for kind in OURS:
        environment.admin.wait_gone(cluster.path(kind))
    poll("nothing to be left", lambda: not cluster.embedded())


@pytest.mark.slow
def test_the_real_garbage_collector_is_refused(environment: Environment, operator: Operators) -> None:
    cluster = Cluster(environment).create(pool=False)
    cluster.available()
    cluster.patch("Cluster", {"metadata": {"finalizers": None}})
    environment.admin.delete(cluster.path("Cluster"))
    environment.admin.wait_gone(cluster.path("Cluster"))
    assert environment.plane.controllers is not None
    log = environment.plane.controllers.process.log

    def refused(name: str) -> bool:
        lines = log.read_text(errors="replace").splitlines()
        return any(name in line and "nobody asked to delete it" in line for line in lines)

    # it looks for new kinds every 30 s
    for kind in ("AROCluster", "AROControlPlane"):
        poll(f"{kind} to be refused", functools.partial(refused, cluster.named(kind)), 75)
    assert cluster.in_azure() == []
    assert len(cluster.embedded()) == 7
    for kind in OURS[1:]:
        environment.admin.delete(cluster.path(kind))
        environment.admin.wait_gone(cluster.path(kind))


def test_without_the_webhook_nobody_is_known_to_have_asked(
    environment: Environment, no_operator: Operators
) -> None:
    with Operator(environment, alone=True):
        cluster = Cluster(environment).create()
        cluster.available()
        taken_away(cluster)
        for kind in OURS:
            environment.admin.delete(cluster.path(kind))
            reported = cluster.until(kind, "Deleting", "False", "OwnerMissing")
            assert CONFIRM in said(reported, "Deleting")["message"]
        assert untouched(cluster)

        def told_about() -> set[str]:
            events = environment.admin.list(at("events", cluster.namespace, api="events.k8s.io/v1"))
            return {one["regarding"]["kind"] for one in events if one["reason"] == "OwnerMissing"}

        poll("Events about all three", lambda: told_about() == set(OURS))
        for kind in OURS:
            cluster.patch(kind, {"metadata": {"annotations": {CONFIRM: "true"}}})
        for kind in OURS:
            environment.admin.wait_gone(cluster.path(kind))
        poll("nothing to be left", lambda: not cluster.embedded())


def test_what_was_paused_when_its_cluster_went_is_spared(
    environment: Environment, operator: Operators
) -> None:
    """As after a move of the Cluster alone: everything in Azure is another management cluster's now."""
    cluster = Cluster(environment).create()
    cluster.available()
    cluster.patch("Cluster", {"spec": {"paused": True}})
    for kind in OURS:
        cluster.until(kind, "Paused")
    deleted = environment.admin.delete(cluster.path("AROCluster"))
    assert deleted.status == 200
    reported = cluster.wait("AROCluster", lambda obj: "nothing is deleted" in said(obj, "Paused")["message"])
    assert said(reported, "Paused")["status"] == "True"
    taken_away(cluster)
    for kind in OURS:
        environment.admin.delete(cluster.path(kind))
        reported = cluster.until(kind, "Deleting", "False", "OwnerMissing")
        assert "it was paused when that went" in said(reported, "Deleting")["message"]
    assert untouched(cluster)
    for kind in OURS:
        cluster.patch(kind, {"metadata": {"annotations": {CONFIRM: "true"}}})
    for kind in OURS:
        environment.admin.wait_gone(cluster.path(kind))


def test_another_cluster_of_the_same_name_is_not_the_owner(
    environment: Environment, no_operator: Operators
) -> None:
    """As after a restore: the garbage collector goes by the uid."""
    with Operator(environment, alone=True):
        cluster = Cluster(environment).create(pool=False)
        cluster.available()
        wrong = [
            {"apiVersion": manifests.CAPI, "kind": "Cluster", "name": cluster.name, "uid": "another"},
        ]
        cluster.patch("Cluster", {"spec": {"paused": False}})
        environment.manager.freeze()
        try:
            cluster.patch("AROCluster", {"metadata": {"ownerReferences": wrong}})
            environment.admin.delete(cluster.path("AROCluster"))
            cluster.until("AROCluster", "Deleting", "False", "OwnerMissing")
            assert cluster.in_azure() == []
        finally:
            environment.manager.thaw()
        cluster.delete()
        cluster.gone()


def test_the_webhook_configuration_says_since_when_deletions_are_checked(
    environment: Environment, operator: Operators
) -> None:
    from tests.aro.operators import REGISTRATION

    found = environment.admin.get(REGISTRATION).object
    since = found["metadata"]["annotations"][reviews.SINCE]
    rules = [{**one, "operations": ["CREATE"]} for one in found["webhooks"][0]["rules"]]
    hook = {**found["webhooks"][0], "rules": rules}
    environment.admin.patch(REGISTRATION, {"webhooks": [hook]})

    def renewed(obj: Json) -> bool:
        return bool(
            obj["metadata"]["annotations"][reviews.SINCE] > since
            and "DELETE" in obj["webhooks"][0]["rules"][0]["operations"]
        )

    environment.admin.wait(REGISTRATION, renewed)
