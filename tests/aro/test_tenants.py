"""Nobody gets through an ARO object what they may not do themselves: users of one namespace on the real API
server.

The rule in the definition, the webhook and the controller are each tried alone, and with what others
stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.operator_installation import operator_installed
from tests.aro import asokinds, manifests, tenants
from tests.aro.environment import Cluster, Environment, Operator, poll, said
from tests.aro.operators import Azure, Operators
from tests.aro.test_admission import causes, written
from tests.rig.client import at
from vestibule.api.aso import SHIPPED
from vestibule.manifests import operator as rendered

pytestmark = pytest.mark.xdist_group("aro")

Json = dict[str, Any]
KINDS = ("AROCluster", "AROControlPlane", "AROMachinePool")


def bindings(environment: Environment, name: str) -> list[int]:
    """Whether the objects of an attack are there."""
    admission = "admissionregistration.k8s.io/v1"
    return [
        environment.admin.get(at("clusterrolebindings", name=name, api=tenants.RBAC)).status,
        environment.admin.get(at("mutatingwebhookconfigurations", name=name, api=admission)).status,
        environment.admin.get(at("rolebindings", "kube-system", name, api=tenants.RBAC)).status,
    ]


def warned(cluster: Cluster) -> set[str]:
    """The reasons of the warnings in the namespace of a cluster."""
    events = cluster.admin.list(at("events", cluster.namespace, api="events.k8s.io/v1"))
    return {one["reason"] for one in events if one["type"] == "Warning"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_definition_refuses_kinds_outside_the_list(
    environment: Environment, no_operator: Operators, kind: str
) -> None:
    """Nothing of ours runs: this is the API server alone."""
    cluster = Cluster(environment)
    user = tenants.tenant(environment, cluster.namespace, *asokinds.KINDS)
    path = manifests.path(kind, cluster.namespace)
    good = written(cluster, kind)
    assert user.create(path, good, dryRun="All").status == 201
    disguised = [
        *tenants.attack("attack", "u"),
        {**good["spec"]["resources"][0], "kind": "Deployment"},
        {**good["spec"]["resources"][0], "apiVersion": "apps/v1"},
        {**good["spec"]["resources"][0], "apiVersion": "v1"},
        {**good["spec"]["resources"][0], "apiVersion": "rbac.authorization.k8s.io/resources.azure.com/v1"},
        {**good["spec"]["resources"][0], "apiVersion": ["v1"]},
    ]
    for entry in disguised:
        bad = written(cluster, kind)
        bad["spec"]["resources"].append(entry)
        answer = user.create(path, bad, dryRun="All")
        assert (answer.status, answer.json["reason"]) == (422, "Invalid"), entry
        assert f"spec.resources[{len(bad['spec']['resources']) - 1}]" in answer.message
    many = written(cluster, kind)
    many["spec"]["resources"] = good["spec"]["resources"][:1] * 257
    assert user.create(path, many, dryRun="All").status == 422


def test_nobody_embeds_what_they_may_not_create(environment: Environment, operator: Operators) -> None:
    cluster = Cluster(environment)
    poor = tenants.tenant(environment, cluster.namespace)
    rich = tenants.tenant(environment, cluster.namespace, *asokinds.KINDS)
    path = manifests.path("AROCluster", cluster.namespace)
    expected = written(cluster, "AROCluster")
    refused = poor.create(path, expected, dryRun="All")

    assert (refused.status, refused.json["reason"]) == (422, "Invalid")
    assert [field for field, reason in causes(refused) if reason == "FieldValueForbidden"] == [
        f"spec.resources[{index}]" for index in range(6)
    ]
    assert "may not create roleassignments.authorization.azure.com" in refused.message
    assert rich.create(path, expected).status == 201
    # what stands there already is not asked about again; what is changed or new is
    path = manifests.path("AROCluster", cluster.namespace, f"{cluster.name}-infra")
    resources = expected["spec"]["resources"]
    assert poor.patch(path, {"spec": {"resources": resources[1:]}}).status == 200
    changed = [{**one, "spec": {**one["spec"], "tags": {"a": "b"}}} for one in resources[1:2]]
    answer = poor.patch(path, {"spec": {"resources": [*changed, *resources[2:]]}})
    assert causes(answer) == [("spec.resources[0]", "FieldValueForbidden")]
    answer = poor.patch(path, {"spec": {"resources": resources}})
    assert causes(answer) == [("spec.resources[0]", "FieldValueForbidden")]


def test_who_takes_over_an_object_may_change_and_delete_it(
    environment: Environment, operator: Operators
) -> None:
    cluster = Cluster(environment)
    user = tenants.tenant(environment, cluster.namespace)
    creating = {
        "apiGroups": [asokinds.GROUP.group],
        "resources": [asokinds.GROUP.plural],
        "verbs": ["create"],
    }
    role = next(
        one["metadata"]["name"]
        for one in environment.admin.list(at("roles", cluster.namespace, api=tenants.RBAC))
        if one["metadata"]["name"].startswith("tenant-")
    )
    path = at("roles", cluster.namespace, role, api=tenants.RBAC)
    rules = environment.admin.get(path).object["rules"]
    environment.admin.patch(path, {"rules": [*rules, creating]})
    obj = written(cluster, "AROCluster")
    obj["spec"]["resources"] = [one for one in obj["spec"]["resources"] if one["kind"] == "ResourceGroup"]
    where = manifests.path("AROCluster", cluster.namespace)
    poll("the right to count", lambda: user.create(where, obj, dryRun="All").status == 201)
    obj["spec"]["resources"][0]["metadata"]["annotations"] = {"vestibule.dev/adopt": "true"}
    answer = user.create(where, obj, dryRun="All")

    assert answer.status == 422
    assert "may not patch resourcegroups" in answer.message
    assert "may not delete resourcegroups" in answer.message


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"namespace": "kube-system"}, "namespace"),
        ({"name": "../../../../api/v1/namespaces/kube-system/secrets/x"}, "name"),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]},
            "ownerReferences",
        ),
        ({"finalizers": ["example.com/never"]}, "finalizers"),
        ({"annotations": {"vestibule.dev/created-for": "u"}}, "annotations[vestibule.dev/created-for]"),
    ],
    ids=["another namespace", "a path", "owners", "finalizers", "a record of ours"],
)
def test_metadata_that_reaches_elsewhere_is_refused(
    environment: Environment, operator: Operators, change: Json, field: str
) -> None:
    cluster = Cluster(environment)
    obj = written(cluster, "AROCluster")
    obj["spec"]["resources"][0]["metadata"] |= change
    answer = environment.admin.create(manifests.path("AROCluster", cluster.namespace), obj, dryRun="All")

    assert answer.status == 422
    assert [found for found, _ in causes(answer)] == [f"spec.resources[0].metadata.{field}"]


def test_what_was_stored_before_is_not_applied_and_keeps_nothing_from_working(
    environment: Environment, no_operator: Operators
) -> None:
    """Entries of an attack, and some that cannot be read, beside those of a cluster: the cluster comes up
    once they are gone, nothing of the attack ever does, and the object can be deleted as it is."""
    cluster, name = Cluster(environment), f"attack-{Cluster(environment).name}"
    with tenants.unchecked(environment):
        user = tenants.tenant(environment, cluster.namespace)
        objects = manifests.cluster(cluster.wish, cluster.namespace)
        infrastructure = next(one for one in objects if one["kind"] == "AROCluster")
        plain = list(infrastructure["spec"]["resources"])
        deep: Json = {}
        for _ in range(300):
            deep = {"a": deep}
        strange = [
            {"apiVersion": "network.azure.com/v1api20240301"},
            {**plain[0], "metadata": ["x"]},
            {**plain[0], "metadata": {"name": "n", "annotations": {"a": 1}}},
            {**plain[0], "metadata": {"name": "deep"}, "spec": deep},
            {**plain[0], "metadata": {"name": "elsewhere", "namespace": "kube-system"}},
        ]
        infrastructure["spec"]["resources"] = [*tenants.attack(name, "u"), *plain, *strange]
        infrastructure["metadata"]["annotations"] = {
            "sigs.k8s.io/cluster-api-provider-azure-owned-aso-kinds": "ClusterRoleBinding.v1."
            "rbac.authorization.k8s.io;Secret.v1.;nonsense"
        }
        for one in objects:
            created = user.create(manifests.path(one["kind"], cluster.namespace), one)
            assert created.status == 201, created.body
    with Operator(environment, alone=True):
        poll("the good ones to be applied", lambda: len(cluster.embedded()) == len(plain))
        reported = cluster.wait(
            "AROCluster", lambda obj: len(obj.get("status", {}).get("resources") or ()) == 15
        )
        refused = [one for one in reported["status"]["resources"] if one.get("reason") == "Refused"]
        assert len(refused) == 9
        assert any("ClusterRoleBinding, which may not be embedded" in one["message"] for one in refused)
        assert said(reported, "Ready")["status"] == "False"
        poll("an Event", lambda: "Refused" in warned(cluster))
        assert bindings(environment, name) == [404, 404, 404]
        secret = at("secrets", cluster.namespace, name)
        assert environment.admin.get(secret).status == 404
        # as it is, it can be changed in all else, repaired, and deleted
        path = cluster.path("AROCluster")
        assert user.patch(path, {"metadata": {"labels": {"a": "b"}}}).status == 200
        assert user.patch(path, {"spec": {"resources": [*plain, tenants.attack(name, "u")[0]]}}).status == 422
        assert user.patch(path, {"spec": {"resources": plain}}).status == 200
        cluster.available()
    assert bindings(environment, name) == [404, 404, 404]
    with tenants.unchecked(environment):
        bad = [*plain, *tenants.attack(name, "u"), *strange]
        assert user.patch(path, {"spec": {"resources": bad}}).status == 200
    with Operator(environment, alone=True):
        cluster.delete()
        cluster.gone()
        poll("nothing to be left", lambda: not cluster.embedded())
    assert bindings(environment, name) == [404, 404, 404]


def test_an_object_that_is_not_ours_is_neither_written_nor_adopted(
    environment: Environment, no_operator: Operators
) -> None:
    """Not even one that a controller of our name applied for somebody else, and not at the second look."""
    cluster = Cluster(environment)
    path = manifests.path("VirtualNetwork", cluster.namespace, f"{cluster.name}-vnet")
    theirs = manifests.resource(
        asokinds.NETWORK,
        f"{cluster.name}-vnet",
        {"location": "westus", "owner": {"name": "theirs"}},
        namespace=cluster.namespace,
    )
    environment.admin.apply(path, theirs, "capz-manager", force=True).object  # noqa: B018 - raises
    before = environment.admin.get(path).object
    with Operator(environment, alone=True):
        cluster.create(pool=False)
        cluster.wait("Vault", lambda obj: said(obj, "Ready").get("status") == "True")
        reported = cluster.wait(
            "AROCluster",
            lambda obj: any(
                "belongs to nobody" in one.get("message", "")
                for one in obj.get("status", {}).get("resources") or ()
            ),
        )
        # a later look, which sees the status of this one
        listed = reported["spec"]["resources"]
        marked = [
            {**one, "spec": {**one["spec"], "tags": {"a": "b"}}} if one["kind"] == "ResourceGroup" else one
            for one in listed
        ]
        cluster.patch("AROCluster", {"spec": {"resources": marked}})
        cluster.wait("ResourceGroup", lambda obj: obj["spec"].get("tags") == {"a": "b"})
        after = environment.admin.get(path).object
        assert after["spec"]["location"] == "westus"
        assert not any(one.get("controller") for one in after["metadata"].get("ownerReferences", ()))
        assert said(reported, "Ready")["status"] == "False"
        poll("an Event", lambda: "NotApplied" in warned(cluster))
        cluster.delete()
        cluster.gone()
    assert environment.admin.get(path).object["metadata"]["uid"] == before["metadata"]["uid"]
    assert "deletionTimestamp" not in environment.admin.get(path).object["metadata"]


def test_a_forged_status_gets_no_object_deleted(environment: Environment, no_operator: Operators) -> None:
    """A tenant writes the status of an AROCluster, as if the operator had applied the object of somebody
    else, and deletes the AROCluster."""
    cluster = Cluster(environment)
    user = tenants.tenant(environment, cluster.namespace, *asokinds.KINDS)
    _grant_status(environment, cluster.namespace)
    name = "precious"
    path = manifests.path("VirtualNetwork", cluster.namespace, name)
    theirs = manifests.resource(
        asokinds.NETWORK,
        name,
        {"location": "westus", "owner": {"name": "theirs"}},
        namespace=cluster.namespace,
    )
    theirs["metadata"]["annotations"] = {"serviceoperator.azure.com/reconcile-policy": "skip"}
    environment.admin.apply(path, theirs, "capz-manager", force=True).object  # noqa: B018 - raises
    before = environment.admin.get(path).object
    resource = {
        "group": asokinds.NETWORK.group,
        "version": asokinds.NETWORK.version,
        "kind": "VirtualNetwork",
        "name": name,
    }
    forged = {"resources": [{"resource": resource, "ready": True}]}
    mark = environment.plane.audit.mark()
    with Operator(environment, alone=True):
        cluster.create(pool=False)
        cluster.until("AROCluster", "ResourcesReady")

        def forge() -> bool:
            return user.patch(f"{cluster.path('AROCluster')}/status", {"status": forged}).status == 200

        poll("the right to write a status to count", forge)
        cluster.until("AROCluster", "ResourcesReady")
        cluster.wait("AROCluster", lambda obj: len(obj["status"]["resources"]) == 6)
        forge()
        cluster.delete()
        cluster.gone()
    calls = environment.plane.audit.events(
        mark, user="aro:operator", resource="virtualnetworks", namespace=cluster.namespace
    )
    assert [one for one in calls if one["verb"] == "delete" and one["objectRef"].get("name") == name] == []
    after = environment.admin.get(path).object
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert "deletionTimestamp" not in after["metadata"]
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]


def _grant_status(environment: Environment, namespace: str) -> None:
    """Adds the permission on the status of AROClusters to the roles of the tenants of a namespace."""
    rule = {
        "apiGroups": ["infrastructure.cluster.x-k8s.io"],
        "resources": ["aroclusters/status"],
        "verbs": ["*"],
    }
    for one in environment.admin.list(at("roles", namespace, api=tenants.RBAC)):
        if one["metadata"]["name"].startswith("tenant-"):
            path = at("roles", namespace, one["metadata"]["name"], api=tenants.RBAC)
            assert environment.admin.patch(path, {"rules": [*one["rules"], rule]}).status == 200


@pytest.mark.parametrize("destination", ["", "from-azure"], ids=["the default", "another Secret"])
def test_a_secret_that_is_not_ours_is_neither_read_nor_overwritten(
    environment: Environment, no_operator: Operators, destination: str
) -> None:
    cluster = Cluster(environment, destination=destination)
    foreign = {"apiVersion": "v1", "kind": "Secret", "stringData": {"value": "precious"}}
    path = manifests.path("Secret", cluster.namespace, f"{cluster.name}-kubeconfig")
    authority = manifests.path("Secret", cluster.namespace, f"{cluster.name}-ca")
    for where in (path, authority):
        named = {**foreign, "metadata": {"name": where.rpartition("/")[2], "namespace": cluster.namespace}}
        assert environment.admin.create(where.rpartition("/")[0], named).status == 201
    before = [environment.admin.get(one).object["metadata"]["resourceVersion"] for one in (path, authority)]
    with Operator(environment, alone=True):
        cluster.create(pool=False)
        reported = cluster.until("AROControlPlane", "Ready", "False", "KubeconfigInvalid")
        assert f"Secret {cluster.name}-kubeconfig" in said(reported, "Ready")["message"]
        poll("an Event", lambda: "SecretNotOurs" in warned(cluster))
        after = [
            environment.admin.get(one).object["metadata"]["resourceVersion"] for one in (path, authority)
        ]
        assert after == before
        cluster.delete()
        cluster.gone()
    assert environment.admin.get(path).status == environment.admin.get(authority).status == 200


def test_an_owner_that_does_not_know_it_counts_for_nothing(
    environment: Environment, no_operator: Operators
) -> None:
    """Whoever names another's Cluster as their owner would write its kubeconfig."""
    victim = Cluster(environment)
    with Operator(environment, alone=True):
        victim.create(pool=False)
        victim.until("AROCluster", "Ready")
        user = tenants.tenant(environment, victim.namespace, *asokinds.KINDS)
        meta = victim.get("Cluster")["metadata"]
        obj = written(victim, "AROControlPlane")
        obj["metadata"] |= {
            "name": "thief",
            "ownerReferences": [
                {"apiVersion": manifests.CAPI, "kind": "Cluster", "name": meta["name"], "uid": meta["uid"]}
            ],
        }
        obj["spec"]["resources"][0]["metadata"]["name"] = "thief"
        created = user.create(manifests.path("AROControlPlane", victim.namespace), obj)
        assert created.status == 201, created.body
        reported = environment.admin.wait(
            manifests.path("AROControlPlane", victim.namespace, "thief"),
            lambda one: said(one, "Ready").get("reason") == "NotReferred",
        )
        assert "does not name it in spec.controlPlaneRef" in said(reported, "Ready")["message"]
        assert not victim.there("HcpOpenShiftCluster", "thief")
        environment.admin.delete(manifests.path("AROControlPlane", victim.namespace, "thief"))
        victim.delete()
        victim.gone()


def test_an_identity_reads_no_secret_of_another_namespace(
    environment: Environment, azure: Azure, operator: Operators
) -> None:
    """It would be sent, as a password, to whomever the identity names."""
    cluster, other = Cluster(environment, identity="id1"), Cluster(environment)
    azure.prepare(other)
    azure.prepare(cluster, clientSecret={"name": "id1", "namespace": other.namespace})
    mark = environment.plane.audit.mark()
    cluster.create(pool=False)
    reported = cluster.until("AROControlPlane", "EncryptionKeyReady", "False", "KeyUnreadable")

    assert (
        f"spec.clientSecret.namespace is '{other.namespace}'"
        in said(reported, "EncryptionKeyReady")["message"]
    )
    assert azure.calls(cluster) == []
    read = environment.plane.audit.events(
        mark, user="aro:operator", resource="secrets", namespace=other.namespace
    )
    assert list(read) == []
    cluster.delete()
    cluster.gone()


def test_rendered_permissions_are_the_list_and_nothing_else(
    environment: Environment, no_operator: Operators, tmp_path: Path
) -> None:
    """Even if everything else failed: the account of the operator may not write what an attack embeds."""
    added = "network.azure.com/NatGateway/natgateways"
    with operator_installed(
        environment.plane, tmp_path, install={"aro": True, "aroKinds": [added]}
    ) as created:
        role = next(
            one
            for one in rendered.objects(created.settings)
            if one["kind"] == "ClusterRole" and one["metadata"]["name"].endswith("-aro")
        )
        azure = {
            (group, resource)
            for rule in role["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            if group.endswith(".azure.com")
        }
        assert azure == {(one.group, one.plural) for one in SHIPPED} | {("network.azure.com", "natgateways")}
        every = [value for rule in role["rules"] for values in rule.values() for value in values]
        assert not any("*" in value for value in every)
        account = environment.plane.client(
            created.user,
            ("system:serviceaccounts", f"system:serviceaccounts:{created.name}", "system:authenticated"),
        )
        for one in tenants.attack("attack", "u"):
            plural = f"{one['kind'].lower()}s"
            where = one["metadata"].get("namespace")
            if one["kind"] == "Secret":
                continue  # kubeconfigs are Secrets: it may write them, and writes those of its own only
            path = at(plural, where, api=one["apiVersion"])
            assert account.create(path, one, dryRun="All").status == 403, one["kind"]
        name = "aroclusters.infrastructure.cluster.x-k8s.io"
        definition = environment.admin.get(at("customresourcedefinitions", name=name, api=tenants.CRD)).object
        rule = tenants.resources(definition)["items"]["x-kubernetes-validations"][0]["rule"]
        assert "'network.azure.com/NatGateway'" in rule
    # the definitions as all other tests want them
    tenants.restored(environment)
