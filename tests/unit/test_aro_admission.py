"""Rules at the door: each breaks alone, tells where, and a sound cluster breaks none."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.unit import aro
from vestibule.core.aro import admission, names

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
    found = admission.review("CREATE", aro.objects()[kind], None, aro.world())

    assert not found.errors
    assert not found.warnings


@pytest.mark.parametrize(("kind", "path", "value", "where", "what"), CLUSTER_RULES)
def test_a_rule_of_the_control_plane_breaks_alone(
    kind: str, path: str, value: Any, where: str, what: str
) -> None:
    owner = aro.changed(aro.objects()["AROControlPlane"], kind, path, value)
    index = next(i for i, one in enumerate(owner["spec"]["resources"]) if one["kind"] == kind)

    found = admission.review("CREATE", owner, None, aro.world())

    assert [(one.path, one.type) for one in found.errors] == [(f"spec.resources[{index}].{where}", what)]


@pytest.mark.parametrize(("path", "value", "where", "what"), POOL_RULES)
def test_a_rule_of_a_pool_breaks_alone(path: str, value: Any, where: str, what: str) -> None:
    owner = aro.changed(aro.objects()["AROMachinePool"], names.NODE_POOL, path, value)

    found = admission.review("CREATE", owner, None, aro.world())

    assert [(one.path, one.type) for one in found.errors] == [(f"spec.resources[0].{where}", what)]


def test_an_ephemeral_disk_wants_repair() -> None:
    owner = aro.changed(aro.objects()["AROMachinePool"], names.NODE_POOL, f"{P}.autoRepair", False)
    owner = aro.changed(owner, names.NODE_POOL, f"{P}.platform.osDisk.diskType", "Ephemeral")

    found = admission.review("CREATE", owner, None, aro.world())

    assert [one.path for one in found.errors] == [f"spec.resources[0].{P}.autoRepair"]


def test_every_identity_is_used_once_and_none_of_the_data_plane_is_the_clusters() -> None:
    owner = aro.objects()["AROControlPlane"]
    listed = owner["spec"]["resources"][0]["spec"]["identity"]["userAssignedIdentities"]
    listed.append({"reference": {"name": "shop-dp-disk-csi-driver"}})
    listed.append({"reference": {"name": "nobody"}})
    operators = owner["spec"]["resources"][0]["spec"]["properties"]["platform"]["operatorsAuthentication"]
    references = operators["userAssignedIdentities"]["controlPlaneOperatorsReferences"]
    references["kms"] = dict(references["ingress"])

    texts = [one.text for one in admission.review("CREATE", owner, None, aro.world()).errors]

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

    found = admission.review("UPDATE", new, old, aro.world())

    wanted = [(f"spec.resources[0].{path}", "Forbidden")] if refused else []
    assert [(one.path, one.type) for one in found.errors] == wanted


def test_a_pool_may_be_scaled_but_not_moved() -> None:
    old = aro.objects()["AROMachinePool"]
    old = aro.changed(old, names.NODE_POOL, f"{P}.replicas", 2)
    scaled = aro.changed(old, names.NODE_POOL, f"{P}.replicas", 5)
    moved = aro.changed(old, names.NODE_POOL, f"{P}.platform.vmSize", "Standard_D2s_v3")

    assert not admission.review("UPDATE", scaled, old, aro.world()).errors
    assert [one.path for one in admission.review("UPDATE", moved, old, aro.world()).errors] == [
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

    refused = admission.review("CREATE", owner, None, aro.world(identity))
    fine = admission.review("CREATE", owner, None, aro.world(allowed, namespace))

    assert [(one.path, one.type) for one in refused.errors] == [("spec.identityRef", "Forbidden")]
    assert not fine.errors


def test_a_second_external_auth_and_another_cloud_are_refused() -> None:
    owner = aro.objects()["AROControlPlane"]
    second = copy.deepcopy(owner["spec"]["resources"][1])
    second["metadata"]["name"] = "another"
    owner["spec"]["resources"].append(second)
    owner["spec"]["azureEnvironment"] = "Moon"

    found = admission.review("CREATE", owner, None, aro.world())

    assert [(one.path, one.type) for one in found.errors] == [
        ("spec.azureEnvironment", "Invalid"),
        ("spec.resources[2]", "Forbidden"),
    ]


def test_old_and_misspelt_fields_are_warned_about() -> None:
    pool = aro.changed(aro.objects()["AROMachinePool"], names.NODE_POOL, f"{P}.autoscaling", {"min": 1})
    plane = aro.objects()["AROControlPlane"]
    plane["spec"]["resources"][0]["apiVersion"] = "redhatopenshift.azure.com/v1api20240610preview"

    assert any("autoScaling" in one for one in admission.review("CREATE", pool, None, aro.world()).warnings)
    assert any(
        "v1api20260630preview" in one for one in admission.review("CREATE", plane, None, aro.world()).warnings
    )
