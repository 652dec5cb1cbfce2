"""What is refused when it is written, on the real API server: every field by its name, all at once."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.aro import manifests
from tests.aro.environment import Cluster, Environment, poll
from tests.aro.operators import REGISTRATION, Azure, Operators
from tests.rig.client import Answer

pytestmark = pytest.mark.xdist_group("aro")

Json = dict[str, Any]


def causes(answer: Answer) -> list[tuple[str, str]]:
    """Field and reason of each cause of a refusal."""
    details = answer.json.get("details") or {}
    return [(one["field"], one["reason"]) for one in details.get("causes", ())]


def tried(cluster: Cluster, obj: Json) -> Answer:
    return cluster.admin.create(manifests.path(obj["kind"], cluster.namespace), obj, dryRun="All")


def written(cluster: Cluster, kind: str) -> Json:
    objects = [
        *manifests.cluster(cluster.wish, cluster.namespace),
        *manifests.pool(cluster.wish, cluster.namespace),
    ]
    return copy.deepcopy(next(one for one in objects if one["kind"] == kind))


def test_a_good_cluster_passes(environment: Environment, operator: Operators) -> None:
    cluster = Cluster(environment, auth=True)
    for kind in ("AROCluster", "AROControlPlane", "AROMachinePool"):
        answer = tried(cluster, written(cluster, kind))
        assert answer.status == 201, answer.body


def test_all_problems_are_reported_at_once_with_their_fields(
    environment: Environment, operator: Operators
) -> None:
    cluster = Cluster(environment)
    obj = written(cluster, "AROControlPlane")
    hcp = obj["spec"]["resources"][0]
    hcp["spec"]["properties"]["etcd"]["dataEncryption"]["customerManaged"]["kms"]["activeKey"].pop("version")
    obj["spec"]["resources"].append({"apiVersion": "network.azure.com/v1api20240301", "metadata": {}})
    answer = tried(cluster, obj)

    assert (answer.status, answer.json["reason"]) == (422, "Invalid")
    key = "spec.resources[0].spec.properties.etcd.dataEncryption.customerManaged.kms.activeKey.version"
    assert set(causes(answer)) >= {
        (key, "FieldValueRequired"),
        ("spec.resources[1].kind", "FieldValueRequired"),
        ("spec.resources[1].metadata.name", "FieldValueRequired"),
    }
    assert f"{key}: Required value" in answer.message
    assert f'AROControlPlane.controlplane.cluster.x-k8s.io "{cluster.name}-cp" is invalid' in answer.message


def test_an_identity_of_others_is_refused(
    environment: Environment, azure: Azure, operator: Operators
) -> None:
    cluster = Cluster(environment, identity="id1")
    azure.prepare(cluster, allowedNamespaces={"list": ["elsewhere"]})
    answer = tried(cluster, written(cluster, "AROControlPlane"))

    assert answer.status == 422, answer.body
    assert any("identityRef" in field for field, _ in causes(answer))


def test_the_last_pool_stays_until_the_cluster_goes(environment: Environment, operator: Operators) -> None:
    cluster = Cluster(environment).create()
    cluster.available()
    answer = cluster.admin.delete(cluster.path("AROMachinePool"))
    assert (answer.status, answer.json["reason"]) == (403, "Forbidden")
    cluster.delete()
    cluster.gone()


def test_a_webhook_configuration_that_was_taken_away_comes_back(
    environment: Environment, operator: Operators
) -> None:
    before = environment.admin.get(REGISTRATION).object
    hook = before["webhooks"][0]
    assert (hook["failurePolicy"], hook["sideEffects"]) == ("Fail", "None")
    environment.admin.delete(REGISTRATION)
    poll("the registration to be there", lambda: environment.admin.get(REGISTRATION).status == 200)
    after = environment.admin.get(REGISTRATION).object

    assert after["webhooks"] == before["webhooks"]


def test_what_was_there_before_can_be_changed_in_all_else(
    environment: Environment, no_operator: Operators
) -> None:
    """Nobody could heal it otherwise, nor let it go."""
    cluster = Cluster(environment)
    obj = written(cluster, "AROControlPlane")
    hcp = obj["spec"]["resources"][0]
    hcp["spec"]["properties"]["etcd"]["dataEncryption"]["customerManaged"]["kms"]["activeKey"].pop("version")
    environment.make([obj])
    no_operator.ensure()
    path = cluster.path("AROControlPlane")
    labelled = environment.admin.patch(path, {"metadata": {"labels": {"a": "b"}}})
    changed = environment.admin.patch(path, {"spec": {"subscriptionID": "s"}})

    assert labelled.status == 200, labelled.body
    assert changed.status == 422, changed.body
    assert environment.admin.delete(path).status == 200
    environment.admin.wait_gone(path)
