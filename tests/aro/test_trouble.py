"""What goes wrong while a cluster lives: drift, errors, missing kinds, objects and pauses of others."""

from __future__ import annotations

import base64
import datetime
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.aro import asokinds, manifests
from tests.aro.asodouble import Failure
from tests.aro.environment import Cluster, Environment, Operator, poll, said
from tests.aro.operators import Azure, Operators
from tests.rig import kubeconfig as rig_kubeconfig
from tests.rig.client import at
from tests.rig.controlplane import MASTERS

pytestmark = pytest.mark.xdist_group("aro")

Json = dict[str, Any]
ADOPT = "vestibule.dev/adopt"
POLICY = "serviceoperator.azure.com/reconcile-policy"


def test_what_is_edited_by_hand_is_repaired(environment: Environment, operator: Operators) -> None:
    cluster = Cluster(environment).create(pool=False)
    cluster.available()
    cluster.patch("VirtualNetwork", {"spec": {"location": "westus"}})
    cluster.wait("VirtualNetwork", lambda obj: obj["spec"]["location"] == "eastus")
    cluster.patch("VirtualNetwork", {"metadata": {"ownerReferences": None}})
    cluster.wait(
        "VirtualNetwork",
        lambda obj: any(one["kind"] == "AROCluster" for one in obj["metadata"].get("ownerReferences", ())),
    )
    deleted = cluster.get("UserAssignedIdentity")["metadata"]["uid"]
    cluster.admin.delete(cluster.path("UserAssignedIdentity"))

    def recreated() -> bool:
        answer = cluster.admin.get(cluster.path("UserAssignedIdentity"))
        return answer.status == 200 and bool(answer.object["metadata"]["uid"] != deleted)

    poll("it to be created again", recreated)
    cluster.available()
    # a field that leaves the spec leaves the object
    resources = cluster.get("AROCluster")["spec"]["resources"]
    marked = [{**one, "spec": {**one["spec"], "tags": {"a": "b"}}} for one in resources]
    cluster.patch("AROCluster", {"spec": {"resources": marked}})
    cluster.wait("VirtualNetwork", lambda obj: obj["spec"].get("tags") == {"a": "b"})
    cluster.patch("AROCluster", {"spec": {"resources": resources}})
    cluster.wait("VirtualNetwork", lambda obj: "tags" not in obj["spec"])
    # a resource that leaves the spec is deleted
    left = [one for one in resources if one["kind"] != "RoleAssignment"]
    cluster.patch("AROCluster", {"spec": {"resources": left}})
    cluster.admin.wait_gone(cluster.path("RoleAssignment"))
    assert cluster.in_azure()[-1] == f"RoleAssignment/{cluster.name}-role"
    cluster.available()
    cluster.delete()
    cluster.gone()


def test_an_error_later_turns_conditions_false_and_back(
    environment: Environment, operator: Operators
) -> None:
    cluster = Cluster(environment).create(pool=False)
    cluster.available()
    environment.aso.fail(
        f"VirtualNetwork/{cluster.name}-vnet", Failure("Failed", "the address space overlaps")
    )

    down = cluster.until("AROCluster", "ResourcesReady", "False")
    assert "5/6 ready" in said(down, "ResourcesReady")["message"]
    assert "the address space overlaps" in said(down, "Ready")["message"]
    listed = {one["resource"]["name"]: one for one in down["status"]["resources"]}
    troubled = listed[f"{cluster.name}-vnet"]
    assert (troubled["ready"], troubled["severity"]) == (False, "Error")
    environment.aso.fail(f"HcpOpenShiftCluster/{cluster.name}", Failure("InvalidRequest", "quota"))
    worse = cluster.until("AROControlPlane", "Available", "False")
    assert worse["status"]["ready"] is False

    environment.aso.release()
    cluster.available()
    cluster.delete()
    cluster.gone()


def test_nothing_moves_before_what_it_needs_is_ready(environment: Environment, operator: Operators) -> None:
    cluster = Cluster(environment, auth=True)
    environment.aso.hold(f"Vault/{cluster.name}-kv", f"HcpOpenShiftClustersNodePool/{cluster.name}-np")
    cluster.create()
    waiting = cluster.until("AROControlPlane", "Ready", "False", "WaitingForInfrastructure")
    cluster.wait("Vault", lambda obj: said(obj, "Ready").get("reason") == "Reconciling")
    assert not cluster.there("HcpOpenShiftCluster")
    assert waiting["status"]["ready"] is False

    environment.aso.release(f"Vault/{cluster.name}-kv")
    cluster.until("AROControlPlane", "Available")
    late = cluster.until("AROControlPlane", "ExternalAuthReady", "False", "WaitingForNodePool")
    cluster.wait(
        "HcpOpenShiftClustersNodePool", lambda obj: said(obj, "Ready").get("reason") == "Reconciling"
    )
    assert not cluster.there("HcpOpenShiftClustersExternalAuth")
    text = "ExternalAuth creation deferred until at least one node pool is ready"
    assert said(late, "ExternalAuthReady")["message"] == text

    # a pool of another cluster does not count
    other = Cluster(environment, cluster.namespace).create()
    other.available()
    assert not cluster.there("HcpOpenShiftClustersExternalAuth")

    environment.aso.release()
    cluster.until("AROControlPlane", "ExternalAuthReady")
    cluster.available()
    for one in (cluster, other):
        one.delete()
    for one in (cluster, other):
        one.gone()


def test_a_kind_without_a_definition_wedges_nobody(environment: Environment, operator: Operators) -> None:
    cluster = Cluster(environment)
    objects = manifests.cluster(cluster.wish, cluster.namespace)
    missing = {
        "apiVersion": "network.azure.com/v1api20991231",
        "kind": "NetworkSecurityGroup",
        "metadata": {"name": "r"},
        "spec": {"owner": {"name": f"{cluster.name}-rg"}},
    }
    infrastructure = next(one for one in objects if one["kind"] == "AROCluster")
    plain = list(infrastructure["spec"]["resources"])
    infrastructure["spec"]["resources"] = [*plain, missing]
    environment.make(objects)

    def told(obj: Json) -> bool:
        found = obj.get("status", {}).get("resources") or []
        return sum(one["ready"] for one in found) == 6 and any(
            "does not serve" in one.get("message", "") for one in found
        )

    cluster.wait("AROCluster", told)
    assert said(cluster.get("AROCluster"), "ResourcesReady")["status"] == "False"
    # taken out, it is forgotten; put in again it does not keep the rest from being deleted
    cluster.patch("AROCluster", {"spec": {"resources": plain}})
    cluster.available()
    cluster.patch("AROCluster", {"spec": {"resources": [*plain, missing]}})
    cluster.until("AROCluster", "ResourcesReady", "False")
    cluster.delete()
    cluster.gone()
    poll("nothing to be left", lambda: not cluster.embedded())


def test_an_entry_that_the_api_server_cannot_apply_holds_up_no_other(
    environment: Environment, no_operator: Operators
) -> None:
    """A field of the wrong type is answered with status 500 by the API server, not with 422."""
    cluster = Cluster(environment)
    objects = manifests.cluster(cluster.wish, cluster.namespace)
    infrastructure = next(one for one in objects if one["kind"] == "AROCluster")
    plain = list(infrastructure["spec"]["resources"])
    pool = {"apiVersion": asokinds.NODE_POOL.api, "kind": "HcpOpenShiftClustersNodePool"}
    good = {"location": "eastus", "owner": {"name": "c"}}
    typed = {**pool, "metadata": {"name": "typed"}, "spec": {**good, "properties": 5}}
    scalar = {**pool, "metadata": {"name": "scalar"}, "spec": 5}
    array = {**pool, "metadata": {"name": "array"}, "spec": [1]}
    infrastructure["spec"]["resources"] = [typed, scalar, array, *plain]
    environment.make(objects)
    mark = environment.plane.audit.mark()
    with Operator(environment, alone=True):
        poll("the others to be applied", lambda: len(cluster.embedded()) == len(plain))
        down = cluster.until("AROCluster", "Ready", "False", "ApplyFailed")
        message = said(down, "Ready")["message"]
        assert "HcpOpenShiftClustersNodePool" in message
        assert "expected map" in message  # the words of the API server
        found = {one["resource"]["name"]: one for one in down["status"]["resources"]}
        assert (found["typed"]["ready"], found["typed"]["reason"]) == (False, "ApplyFailed")
        assert "expected map" in found["typed"]["message"]
        assert found["scalar"]["reason"] == found["array"]["reason"] == "Refused"

        def attempts() -> list[Json]:
            every = environment.plane.audit.events(
                mark, resource="hcpopenshiftclustersnodepools", namespace=cluster.namespace
            )
            return [one for one in every if one["verb"] == "patch" and one["objectRef"]["name"] == "typed"]

        poll("it to be tried again", lambda: len(attempts()) >= 4)
        events = environment.admin.list(at("events", cluster.namespace, api="events.k8s.io/v1"))
        recorded = [one for one in events if one["reason"] == "ApplyFailed"]
        assert len(recorded) == 1
        assert "expected map" in recorded[0]["note"]
        cluster.patch("AROCluster", {"spec": {"resources": plain}})
        cluster.available()
        cluster.delete()
        cluster.gone()


def test_what_belongs_to_nobody_is_adopted_only_when_asked(
    environment: Environment, operator: Operators
) -> None:
    cluster = Cluster(environment)
    name = f"{cluster.name}-vnet"
    theirs = manifests.resource(
        asokinds.NETWORK, name, {"location": "westus", "owner": {"name": f"{cluster.name}-rg"}}
    )
    created = environment.admin.create(manifests.path("VirtualNetwork", cluster.namespace), theirs)
    assert created.status == 201, created.body
    cluster.create(pool=False)

    def refused(obj: Json) -> bool:
        return any(
            "belongs to nobody" in one.get("message", "") for one in obj["status"].get("resources", ())
        )

    cluster.wait("AROCluster", lambda obj: "status" in obj and refused(obj))
    cluster.wait("Vault", lambda obj: said(obj, "Ready").get("status") == "True")
    live = cluster.get("VirtualNetwork")
    assert live["spec"]["location"] == "westus"
    assert not any(one.get("controller") for one in live["metadata"].get("ownerReferences", ()))

    resources = cluster.get("AROCluster")["spec"]["resources"]
    for one in resources:
        if one["kind"] == "VirtualNetwork":
            one["metadata"]["annotations"] = {ADOPT: "true"}
    cluster.patch("AROCluster", {"spec": {"resources": resources}})
    cluster.available()
    adopted = cluster.get("VirtualNetwork")
    assert adopted["metadata"]["uid"] == live["metadata"]["uid"]
    assert adopted["spec"]["location"] == "eastus"
    cluster.delete()
    cluster.gone()
    assert f"VirtualNetwork/{name}" in cluster.in_azure()


def test_what_a_paused_upstream_controller_left_is_adopted_when_asked(
    environment: Environment, operator: Operators
) -> None:
    """Its pause applies the raw object: skip stays, and the owner and our record are gone. Nothing that is
    left proves whose the object is."""
    cluster = Cluster(environment).create(pool=False)
    cluster.available()
    operator.stop()
    resources = cluster.get("AROCluster")["spec"]["resources"]
    for one in resources:
        name = one["metadata"]["name"]
        path = cluster.path(one["kind"], name)
        raw = {
            **one,
            "metadata": {"name": name, "namespace": cluster.namespace, "annotations": {POLICY: "skip"}},
        }
        environment.admin.apply(path, raw, "capz-manager", force=True).object  # noqa: B018 - raises
        left = environment.admin.get(path).object
        assert not any(one.get("controller") for one in left["metadata"].get("ownerReferences", ()))
    operator.ensure()
    reported = cluster.wait(
        "AROCluster",
        lambda obj: [one.get("reason") for one in obj["status"]["resources"]] == ["NotApplied"] * 6,
    )
    assert all(ADOPT in one["message"] for one in reported["status"]["resources"])
    assert cluster.get("VirtualNetwork")["metadata"]["annotations"][POLICY] == "skip"
    for one in resources:
        one["metadata"].setdefault("annotations", {})[ADOPT] = "true"
    cluster.patch("AROCluster", {"spec": {"resources": resources}})

    def adopted() -> bool:
        return all(
            any(one.get("controller") for one in obj["metadata"].get("ownerReferences", ()))
            and POLICY not in obj["metadata"].get("annotations", {})
            for obj in cluster.embedded().values()
        )

    poll("all to be adopted", adopted)
    # adopted objects are owned by their uid from then on: the annotation can go
    for one in resources:
        del one["metadata"]["annotations"][ADOPT]
    cluster.patch("AROCluster", {"spec": {"resources": resources}})
    cluster.available()
    cluster.delete()
    cluster.gone()
    poll("nothing to be left", lambda: not cluster.embedded())
    assert len(cluster.in_azure()) == 7


def test_deletion_needs_neither_credentials_nor_owners(
    environment: Environment, azure: Azure, operator: Operators
) -> None:
    cluster = Cluster(environment, identity="id1")
    azure.prepare(cluster)
    cluster.create()
    cluster.available()
    for kind in ("AzureClusterIdentity", "Secret"):
        environment.admin.delete(manifests.path(kind, cluster.namespace, "id1"))
    # the Cluster goes without its finalizer: nobody orders the rest any more
    cluster.patch("Cluster", {"metadata": {"finalizers": None}})
    cluster.patch("MachinePool", {"metadata": {"finalizers": None}})
    cluster.delete()
    environment.admin.wait_gone(cluster.path("Cluster"))
    for kind in ("MachinePool", "AROMachinePool", "AROControlPlane", "AROCluster"):
        environment.admin.delete(cluster.path(kind))
    for kind in ("AROMachinePool", "AROControlPlane", "AROCluster"):
        environment.admin.wait_gone(cluster.path(kind))
    poll("nothing to be left", lambda: not cluster.embedded())
    assert len(cluster.in_azure()) == 8


def test_deletion_of_a_cluster_that_never_was_ready(environment: Environment, operator: Operators) -> None:
    cluster = Cluster(environment)
    environment.aso.fail(f"HcpOpenShiftCluster/{cluster.name}", Failure("InvalidRequest", "quota"))
    cluster.create()
    cluster.until("AROControlPlane", "HcpClusterReady", "False", "InvalidRequest")
    environment.aso.never_delete(f"HcpOpenShiftCluster/{cluster.name}")
    cluster.delete()
    reported = cluster.until("AROControlPlane", "Deleting")
    assert f"HcpOpenShiftCluster/{cluster.name}" in said(reported, "Deleting")["message"]
    assert cluster.there("AROCluster")
    environment.aso.never_delete()
    cluster.gone()


def test_a_restart_in_the_middle_of_a_deletion_goes_on_at_once(
    environment: Environment, operator: Operators
) -> None:
    cluster = Cluster(environment).create()
    cluster.available()
    environment.aso.never_delete(f"ResourceGroup/{cluster.name}-rg")
    cluster.delete()
    cluster.until("AROCluster", "Deleting")
    cluster.wait("ResourceGroup", lambda obj: obj["metadata"].get("deletionTimestamp"))
    operator.stop(9)
    operator.ensure()
    began = time.monotonic()
    environment.aso.never_delete()
    environment.admin.wait_gone(cluster.path("AROCluster"))
    took = time.monotonic() - began
    cluster.gone()

    assert took < 5, f"took {took:.1f} s after the last object went"


@pytest.mark.parametrize("trusted", [True, False], ids=["with an authority", "without one"])
def test_the_kubeconfig_is_copied_and_never_weakened(
    environment: Environment, operator: Operators, trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = yaml.safe_load(environment.credentials())
    if not trusted:
        content["clusters"][0]["cluster"].pop("certificate-authority-data")
    said_by_azure = yaml.safe_dump(content).encode()
    monkeypatch.setattr(environment, "credentials", lambda: said_by_azure)
    cluster = Cluster(environment, destination="from-azure").create(pool=False)
    cluster.until("AROControlPlane", "Available")

    secret = cluster.get("Secret")
    assert secret["type"] == "cluster.x-k8s.io/secret"
    assert secret["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] == cluster.name
    assert [one["kind"] for one in secret["metadata"]["ownerReferences"]] == ["AROControlPlane"]
    assert base64.b64decode(secret["data"]["value"]) == said_by_azure
    authority = environment.admin.get(manifests.path("Secret", cluster.namespace, f"{cluster.name}-ca"))
    assert (authority.status == 200) is trusted
    cluster.delete()
    cluster.gone()
    for name in ("from-azure", f"{cluster.name}-kubeconfig"):
        # the garbage collector looks for new kinds every 30 s, and until then follows no owner of theirs
        environment.admin.wait_gone(manifests.path("Secret", cluster.namespace, name), 75)


def test_a_kubeconfig_that_starts_a_program_is_neither_copied_nor_used(
    environment: Environment, operator: Operators, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write the Secret that the cluster names writes it; Cluster API would use the copy."""
    proof = tmp_path / "ran"
    content = yaml.safe_load(environment.credentials())
    run = {"command": "/bin/sh", "args": ["-c", f"touch {proof}"], "interactiveMode": "Never"}
    content["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", **run}}
    monkeypatch.setattr(environment, "credentials", lambda: yaml.safe_dump(content).encode())
    cluster = Cluster(environment, destination="from-azure").create()
    found = cluster.until("AROControlPlane", "Ready", "False", "KubeconfigInvalid")

    name = content["users"][0]["name"]
    assert f"Secret from-azure, key config: users[{name}].user.exec: " in said(found, "Ready")["message"]
    where = manifests.path("Secret", cluster.namespace, f"{cluster.name}-kubeconfig")
    assert environment.admin.get(where).status == 404
    # put where Cluster API looks, it is not used either
    data = {"value": base64.b64encode(environment.credentials()).decode()}
    obj = {"metadata": {"name": f"{cluster.name}-kubeconfig"}, "data": data}
    environment.admin.create(at("secrets", cluster.namespace), obj).object  # noqa: B018 - raises
    cluster.until("AROMachinePool", "NodesRead", "False", "KubeconfigRefused")
    assert not proof.exists()
    cluster.delete()
    cluster.gone()


def test_a_kubeconfig_that_ends_soon_is_renewed(
    environment: Environment, no_operator: Operators, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Operator(environment):
        cluster = Cluster(environment, destination="from-azure").create(pool=False)
        cluster.available()
        fine = cluster.until("AROControlPlane", "KubeconfigReady", "True")
    written, before = environment.aso.secrets[cluster.namespace], cluster.get("Secret")
    # a month passes; Azure gives the same again, and then one that lasts
    with Operator(environment, ahead=datetime.timedelta(days=29)):
        reported = cluster.until("AROControlPlane", "KubeconfigReady", "False", "Expiring")
        poll("a new one to be asked for", lambda: environment.aso.secrets[cluster.namespace] > written)
        poll("the policy to be as before", lambda: not any(map(policy, cluster.embedded().values())))
        events = environment.admin.list(at("events", cluster.namespace, api="events.k8s.io/v1"))
    assert said(reported, "KubeconfigReady")["message"].startswith(
        "the client certificate of the kubeconfig ends"
    )
    assert any(one["reason"] == "KubeconfigExpiring" for one in events)
    assert cluster.get("Secret")["data"] == before["data"]
    assert (
        environment.aso.secrets[cluster.namespace] <= written + 2
    )  # once on the way to skip, once on the way back
    pair = environment.guest.authority.client("aro:long", MASTERS, days=90)
    lasting = rig_kubeconfig.write(
        environment.guest.folder / "lasting.yaml", environment.guest.url, environment.guest.authority.ca, pair
    ).read_bytes()
    monkeypatch.setattr(environment, "credentials", lambda: lasting)
    again = environment.aso.secrets[cluster.namespace]
    cluster.patch("HcpOpenShiftCluster", {"spec": {"operatorSpec": {"secretExpressions": []}}})
    poll("Azure to give the new one", lambda: environment.aso.secrets[cluster.namespace] > again)
    with Operator(environment, ahead=datetime.timedelta(days=29)):
        cluster.until("AROControlPlane", "KubeconfigReady", "True")
        poll("the copy to be the new one", lambda: cluster.get("Secret")["data"] != before["data"])
    assert base64.b64decode(cluster.get("Secret")["data"]["value"]) == lasting
    assert fine["status"]["ready"] is True
    no_operator.ensure()
    cluster.delete()
    cluster.gone()


def policy(obj: Json) -> str | None:
    found: str | None = (obj["metadata"].get("annotations") or {}).get(POLICY)
    return found


def test_an_identity_that_is_not_for_this_namespace_is_reported(
    environment: Environment, azure: Azure, operator: Operators
) -> None:
    """Where it was there first; later ones are refused when they are written."""
    cluster = Cluster(environment, identity="id1").create(pool=False)
    missing = cluster.until("AROControlPlane", "Ready", "False", "IdentityNotUsable")
    assert "does not exist" in said(missing, "Ready")["message"]
    azure.prepare(cluster, allowedNamespaces={"list": ["elsewhere"]})
    poll(
        "the identity to be told",
        lambda: "allowedNamespaces" in said(cluster.get("AROControlPlane"), "Ready")["message"],
    )
    reported = cluster.until("AROControlPlane", "Ready", "False", "IdentityNotUsable")
    assert "allowedNamespaces" in said(reported, "Ready")["message"]
    assert azure.calls(cluster) == []
    environment.admin.patch(
        manifests.path("AzureClusterIdentity", cluster.namespace, "id1"),
        {"spec": {"allowedNamespaces": {"list": [cluster.namespace]}}},
    )
    cluster.until("AROControlPlane", "Available")
    cluster.delete()
    cluster.gone()


@pytest.mark.slow
def test_when_nothing_happens_nothing_is_written(environment: Environment, operator: Operators) -> None:
    """The operator looks every two seconds here."""
    cluster = Cluster(environment, auth=True).create()
    cluster.available()
    cluster.until("AROControlPlane", "ExternalAuthReady")
    cluster.wait("MachinePool", lambda obj: len(obj["spec"].get("providerIDList") or ()) == 2)
    before = cluster.versions()
    mark = environment.plane.audit.mark()
    time.sleep(30)
    after = cluster.versions()
    reading = ("get", "list", "watch")
    calls = [
        one for one in environment.plane.audit.events(mark, user="aro:operator") if one["verb"] not in reading
    ]

    assert [(one["verb"], one["requestURI"]) for one in calls] == []
    ours = {
        name: version for name, version in before.items() if not name.startswith(("MachinePool", "Cluster/"))
    }
    assert ours == {name: after[name] for name in ours}
    cluster.delete()
    cluster.gone()
