"""Rules at the door: each breaks alone, tells where, and a sound cluster breaks none."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit import aro
from vestibule.aro import cluster, controlplane, embedded, machinepool, names, validation

P = "spec.properties"
CLUSTER_RULES: list[tuple[str, str, Any, str, str]] = [
    (names.HCP, "spec.azureName", "-bad", "spec.azureName", "Invalid"),
    (names.HCP, f"{P}.version.id", "4.20.1", f"{P}.version.id", "Invalid"),
    (names.HCP, f"{P}.dns.baseDomainPrefix", "much-too-long-for-it", f"{P}.dns.baseDomainPrefix", "Invalid"),
    (names.HCP, f"{P}.network.podCidr", "10.0.0.0/14", f"{P}.network.podCidr", "Invalid"),
    (names.HCP, f"{P}.network.machineCidr", "ten", f"{P}.network.machineCidr", "Invalid"),
    (names.HCP, "metadata.namespace", "elsewhere", "metadata.namespace", "Invalid"),
    (names.EXTERNAL_AUTH, "spec.azureName", "longer-than-fifteen", "spec.azureName", "Invalid"),
    (names.EXTERNAL_AUTH, f"{P}.issuer.audiences", [], f"{P}.issuer.audiences", "Invalid"),
    (names.EXTERNAL_AUTH, f"{P}.clients", [{"clientId": "x"}], f"{P}.clients[0].clientId", "Invalid"),
]
POOL_RULES: list[tuple[str, Any, str, str]] = [
    ("spec.azureName", "longer-than-fifteen", "spec.azureName", "Invalid"),
    (f"{P}.version", {"id": "4.20"}, f"{P}.version.id", "Invalid"),
    (f"{P}.platform.osDisk.sizeGiB", 32, f"{P}.platform.osDisk.sizeGiB", "Invalid"),
    (f"{P}.replicas", -1, f"{P}.replicas", "Invalid"),
    (f"{P}.replicas", 201, f"{P}.replicas", "Invalid"),
    (f"{P}.autoScaling", {"min": 3, "max": 1}, f"{P}.autoScaling.max", "Invalid"),
    (f"{P}.labels", {"a": "b"}, f"{P}.labels", "Invalid"),
]


@pytest.mark.parametrize("kind", ["AROCluster", "AROControlPlane", "AROMachinePool"])
def test_a_sound_cluster_breaks_no_rule_and_warns_of_nothing(kind: str) -> None:
    found = validation.review("CREATE", aro.objects()[kind], None, aro.reader())

    assert not found.errors
    assert not found.warnings


@pytest.mark.parametrize(("kind", "path", "value", "where", "what"), CLUSTER_RULES)
def test_a_rule_of_the_control_plane_breaks_alone(
    kind: str, path: str, value: Any, where: str, what: str
) -> None:
    owner = aro.changed(aro.objects()["AROControlPlane"], kind, path, value)
    index = next(i for i, one in enumerate(owner["spec"]["resources"]) if one["kind"] == kind)

    found = validation.review("CREATE", owner, None, aro.reader())

    assert [(one.path, one.type) for one in found.errors] == [(f"spec.resources[{index}].{where}", what)]


@pytest.mark.parametrize(("path", "value", "where", "what"), POOL_RULES)
def test_a_rule_of_a_pool_breaks_alone(path: str, value: Any, where: str, what: str) -> None:
    owner = aro.changed(aro.objects()["AROMachinePool"], names.NODE_POOL, path, value)

    found = validation.review("CREATE", owner, None, aro.reader())

    assert [(one.path, one.type) for one in found.errors] == [(f"spec.resources[0].{where}", what)]


def test_an_ephemeral_disk_wants_repair() -> None:
    owner = aro.changed(aro.objects()["AROMachinePool"], names.NODE_POOL, f"{P}.autoRepair", False)
    owner = aro.changed(owner, names.NODE_POOL, f"{P}.platform.osDisk.diskType", "Ephemeral")

    found = validation.review("CREATE", owner, None, aro.reader())

    assert [one.path for one in found.errors] == [f"spec.resources[0].{P}.autoRepair"]


def test_every_identity_is_used_once_and_none_of_the_data_plane_is_the_clusters() -> None:
    owner = aro.objects()["AROControlPlane"]
    listed = owner["spec"]["resources"][0]["spec"]["identity"]["userAssignedIdentities"]
    listed.append({"reference": {"name": "shop-dp-disk-csi-driver"}})
    listed.append({"reference": {"name": "nobody"}})
    operators = owner["spec"]["resources"][0]["spec"]["properties"]["platform"]["operatorsAuthentication"]
    references = operators["userAssignedIdentities"]["controlPlaneOperatorsReferences"]
    references["kms"] = dict(references["ingress"])

    texts = [one.text for one in validation.review("CREATE", owner, None, aro.reader()).errors]

    assert any("shop-cp-ingress is used 2 times" in text for text in texts)
    assert any("shop-dp-disk-csi-driver is of the data plane" in text for text in texts)
    assert any("nobody is not used" in text for text in texts)
    assert any("shop-cp-kms is not used" in text for text in texts)


@pytest.mark.parametrize(
    ("kind", "path", "value", "refused"),
    [
        (names.HCP, "spec.location", "westus", True),
        (names.HCP, f"{P}.network.podCidr", "10.132.0.0/14", True),
        (names.HCP, f"{P}.version.id", "4.21", False),
        (names.HCP, f"{P}.api.authorizedCidrs", ["1.2.3.4/32"], False),
        (names.HCP, f"{P}.etcd.dataEncryption.customerManaged.kms.activeKey.version", "v2", False),
        (names.HCP, f"{P}.etcd.dataEncryption.customerManaged.kms.activeKey.name", "other", True),
    ],
)
def test_what_azure_does_not_change_is_refused_at_once(
    kind: str, path: str, value: Any, refused: bool
) -> None:
    old = aro.objects()["AROControlPlane"]
    new = aro.changed(old, kind, path, value)

    found = validation.review("UPDATE", new, old, aro.reader())

    expected = [(f"spec.resources[0].{path}", "Forbidden")] if refused else []
    assert [(one.path, one.type) for one in found.errors] == expected


def test_a_pool_may_be_scaled_but_not_moved() -> None:
    old = aro.objects()["AROMachinePool"]
    old = aro.changed(old, names.NODE_POOL, f"{P}.replicas", 2)
    scaled = aro.changed(old, names.NODE_POOL, f"{P}.replicas", 5)
    moved = aro.changed(old, names.NODE_POOL, f"{P}.platform.vmSize", "Standard_D2s_v3")

    assert not validation.review("UPDATE", scaled, old, aro.reader()).errors
    assert [one.path for one in validation.review("UPDATE", moved, old, aro.reader()).errors] == [
        f"spec.resources[0].{P}.platform.vmSize"
    ]


def test_an_identity_that_does_not_allow_the_namespace_is_refused() -> None:
    owner = aro.objects()["AROControlPlane"]
    identity: aro.Json = {
        "apiVersion": names.IDENTITY.api_version,
        "kind": "AzureClusterIdentity",
        "metadata": {"name": "capz", "namespace": "default"},
        "spec": {"type": "WorkloadIdentity", "allowedNamespaces": {"list": ["other"]}},
    }
    allowed = copy.deepcopy(identity)
    allowed["spec"]["allowedNamespaces"] = {"selector": {"matchLabels": {"team": "shop"}}}
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "default", "labels": {"team": "shop"}},
    }

    refused = validation.review("CREATE", owner, None, aro.reader(identity))
    fine = validation.review("CREATE", owner, None, aro.reader(allowed, namespace))

    assert [(one.path, one.type) for one in refused.errors] == [("spec.identityRef", "Forbidden")]
    assert not fine.errors


def test_a_second_external_auth_and_another_cloud_are_refused() -> None:
    owner = aro.objects()["AROControlPlane"]
    second = copy.deepcopy(owner["spec"]["resources"][1])
    second["metadata"]["name"] = "another"
    owner["spec"]["resources"].append(second)
    owner["spec"]["azureEnvironment"] = "Moon"

    found = validation.review("CREATE", owner, None, aro.reader())

    assert [(one.path, one.type) for one in found.errors] == [
        ("spec.azureEnvironment", "Invalid"),
        ("spec.resources[2]", "Forbidden"),
    ]


def test_old_and_misspelt_fields_are_warned_about() -> None:
    pool = aro.changed(aro.objects()["AROMachinePool"], names.NODE_POOL, f"{P}.autoscaling", {"min": 1})
    plane = aro.objects()["AROControlPlane"]
    plane["spec"]["resources"][0]["apiVersion"] = "redhatopenshift.azure.com/v1api20240610preview"

    assert any("autoScaling" in one for one in validation.review("CREATE", pool, None, aro.reader()).warnings)
    assert any(
        "v1api20260630preview" in one
        for one in validation.review("CREATE", plane, None, aro.reader()).warnings
    )


# ── values of the wrong type ────────────────────────────────────────────────────────────────────────────────


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field and item inside a value."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(value[key], (*path, key))


def replaced(owner: aro.Json, path: tuple[Any, ...], value: Any) -> aro.Json:
    created = copy.deepcopy(owner)
    inner: Any = created["spec"]["resources"]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return created


def reconcilable(kind: str, objects: dict[str, aro.Json]) -> aro.Json:
    """The object as it is after its first reconcile."""
    obj = copy.deepcopy(objects[kind])
    owner = objects["MachinePool" if kind == "AROMachinePool" else "Cluster"]
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    kinds = embedded.render_owned([embedded.of(one) for one in obj["spec"]["resources"]])
    obj["metadata"] |= {
        "uid": "u",
        "finalizers": [names.FINALIZERS[kind]],
        "annotations": {names.BLOCK_MOVE: "true", names.OWNED_KINDS: kinds},
        "ownerReferences": [{**reference, "name": owner["metadata"]["name"], "uid": "o"}],
    }
    return obj


@pytest.mark.parametrize(
    ("kind", "decide"),
    [
        ("AROCluster", cluster.decide),
        ("AROControlPlane", controlplane.decide),
        ("AROMachinePool", machinepool.decide),
    ],
)
def test_no_value_of_a_wrong_type_breaks_the_webhook_or_the_controller(kind: str, decide: Any) -> None:
    """What a tenant embeds is free-form: each value is replaced by one of every other type."""
    objects = aro.objects(identity="", key_version="0123456789abcdef0123456789abcdef")
    for one in objects.values():
        one["metadata"]["uid"] = "o"
    each = {one["kind"]: one for one in objects["AROCluster"]["spec"]["resources"]}
    objects["AROCluster"]["spec"]["resources"] = list(each.values())
    objects["AROCluster"]["status"] = {"conditions": [{"type": names.RESOURCES_READY, "status": "True"}]}
    objects["AROControlPlane"]["status"] = {"conditions": [{"type": names.HCP_READY, "status": "True"}]}
    good = reconcilable(kind, objects)
    others = [one for name, one in objects.items() if name != kind]
    reader = aro.reader(*others)
    assert decide(good, reader).desired, "the decision must get as far as the resources"
    for path in places(good["spec"]["resources"]):
        for value in (5, True, "x", None, {}, [], [1], {"a": 5}, [{"a": 1}]):
            bad = replaced(good, path, value)
            validation.review("CREATE", bad, None, reader)
            validation.review("UPDATE", bad, good, reader)
            validation.review("UPDATE", good, bad, reader)
            decide(bad, reader)
