"""Manifests of ARO HCP clusters without a cluster: made, checked, planned, drawn."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.unit import aro
from vestibule import errors
from vestibule.aro import crossrefs, embedded, graph, manifest_plan, names
from vestibule.aro.manifest_reader import FROM_VAULT
from vestibule.aro.scaffold import manifests
from vestibule.cli.main import cli

ANSWERS = (
    "--name", "shop", "--subscription", "00000000-0000-0000-0000-000000000001", "--location", "eastus",
)  # fmt: skip


def _run(*words: str, given: str = "") -> Result:
    return CliRunner().invoke(cli, ["aro", *words], input=given, catch_exceptions=True)


def _family(**responses: Any) -> crossrefs.ClusterManifests:
    return crossrefs.families(aro.objects(**responses).values())[0]


def test_the_recipe_holds_thirteen_identities_and_29_assignments_in_an_order_that_works() -> None:
    resources = embedded.resources(aro.objects()["AROCluster"])
    kinds = [one["kind"] for one in resources]

    assert kinds.count("UserAssignedIdentity") == 13
    assert kinds.count("RoleAssignment") == 29
    created: set[embedded.ResourceIdentity] = set()
    for one in graph.ordered(resources):
        needed = {edge.needed for edge in graph.edges(resources) if edge.needing == embedded.identity(one)}
        assert needed <= created
        created.add(embedded.identity(one))


def test_every_reference_of_the_recipe_names_something_in_it() -> None:
    every = manifest_plan.everything(_family())
    known = {embedded.identity(one)[1:] for one in every}

    def references(value: Any) -> list[tuple[str, str]]:
        if isinstance(value, dict):
            own = [(value["kind"], value["name"])] if {"group", "kind", "name"} <= value.keys() else []
            return own + [one for inner in value.values() for one in references(inner)]
        if isinstance(value, list):
            return [one for inner in value for one in references(inner)]
        return []

    found = [one for each in every for one in references(each["spec"])]
    assert len(found) > 50
    assert set(found) <= known


def test_the_plan_goes_from_the_group_to_the_cluster_and_tells_what_is_added() -> None:
    steps = manifest_plan.steps(_family())
    what = [one.what for one in steps]

    order = [
        "ResourceGroup/shop-rg",
        "Vault/shop-vault",
        "AROCluster ResourcesReady",
        "HcpOpenShiftCluster/shop",
        "AROControlPlane HcpClusterReady",
        "Secret/shop-kubeconfig",
        "HcpOpenShiftClustersNodePool/shop-workers",
        "HcpOpenShiftClustersExternalAuth/shop-ea",
        "Cluster/shop Provisioned",
    ]
    assert [what.index(one) for one in order] == sorted(what.index(one) for one in order)
    added = {one.path: one.value for step in steps for one in step.added}
    assert added["spec.operatorSpec"] == {
        "secrets": {"adminCredentials": {"name": "shop-kubeconfig", "key": "value"}}
    }
    key = "spec.properties.etcd.dataEncryption.customerManaged.kms.activeKey.version"
    assert added[key] == FROM_VAULT
    assert added["spec.properties.replicas"] == 2


def test_without_an_identity_the_key_is_the_users_and_nothing_is_added_to_it() -> None:
    steps = manifest_plan.steps(_family(identity="", key_version="v7"))

    assert any("version v7, as written" in one.what for one in steps)
    assert not any("activeKey" in added.path for one in steps for added in one.added)


def test_the_removal_of_a_network_takes_its_subnets_and_breaks_the_cluster() -> None:
    found = manifest_plan.removal([_family()], "VirtualNetwork/shop-vnet")

    assert found is not None
    assert found.deleted[0] == "VirtualNetwork/shop-vnet"
    assert "VirtualNetworksSubnet/shop-subnet" in found.deleted
    assert "ResourceGroup/shop-rg" not in found.deleted
    assert any(one.startswith("HcpOpenShiftCluster/shop (") for one in found.broken)
    assert manifest_plan.removal([_family()], "VirtualNetwork/other") is None


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        (names.NODE_POOL, "spec.owner.name", "other", "want 'shop', the HcpOpenShiftCluster"),
        (names.NODE_POOL, "spec.properties.version", {"id": "4.21.0"}, "newer than the cluster's"),
        (names.NODE_POOL, "spec.properties.version", {"id": "4.17.9"}, "more than two minor versions"),
    ],
)
def test_what_does_not_fit_between_objects_is_reported(
    kind: str, path: str, value: Any, message: str
) -> None:
    every = aro.objects()
    every["AROMachinePool"] = aro.changed(every["AROMachinePool"], kind, path, value)
    one = crossrefs.families(every.values())[0]

    assert any(message in found.text for found in crossrefs.mismatches(one, every.values()) if found.error)


def test_a_vault_that_nobody_declares_is_reported() -> None:
    every = aro.objects()
    path = "spec.properties.etcd.dataEncryption.customerManaged.kms.vaultName"
    every["AROControlPlane"] = aro.changed(every["AROControlPlane"], names.HCP, path, "other")

    found = list(crossrefs.mismatches(crossrefs.families(every.values())[0], every.values()))

    (reported,) = (one for one in found if "names vault 'other'" in one.text)
    assert (reported.path, reported.error) == (f"spec.resources[0].{path}", True)


def test_init_writes_what_validate_takes_and_never_overwrites(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    first = _run("init", *ANSWERS, "--identity", "capz", "-d", str(folder))
    again = _run("init", *ANSWERS, "--identity", "capz", "-d", str(folder))
    checked = _run("validate", "-f", str(folder), "-o", "json")

    assert first.exit_code == 0, first.output
    assert len(list(folder.iterdir())) == 5
    assert again.exit_code != 0
    assert checked.exit_code == 0, checked.output
    assert [one["severity"] for one in json.loads(checked.stdout)] == ["warning"]


def test_init_tells_every_wrong_answer_at_once() -> None:
    words = [
        one.place
        for one in manifests.problems(
            manifests.ScaffoldAnswers(
                "Bad_", "x", "EU", version="4", pool_version="5", replicas=-1, issuer="i"
            )
        )
    ]

    assert words == [
        "--name", "--subscription", "--location", "--version", "--pool-version", "--replicas", "--vault",
        "--key-version", "--audience",
    ]  # fmt: skip


def test_validate_refuses_what_may_not_be_embedded(tmp_path: Path) -> None:
    """Kinds outside the list, other namespaces, and what reaches elsewhere; a kind that is added is taken."""
    given = aro.objects()["AROCluster"]
    group = next(one for one in given["spec"]["resources"] if one["kind"] == "ResourceGroup")
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "r"},
    }
    other = {**group, "metadata": {"name": "o", "namespace": "kube-system", "finalizers": ["a/b"]}}
    gateway = {**group, "apiVersion": "network.azure.com/v1api20220701", "kind": "NatGateway"}
    file = tmp_path / "a.yaml"
    file.write_text(yaml.safe_dump({**given, "spec": {"resources": [role, other, gateway]}}))
    flag = ("--aro-kind", "network.azure.com/NatGateway/natgateways")
    refused = _run("validate", "-f", str(file), "-o", "json")
    added = _run("validate", "-f", str(file), "-o", "json", *flag)
    wild = _run("validate", "-f", str(file), "--aro-kind", "network.azure.com/*/natgateways")

    assert refused.exit_code == added.exit_code == 3
    fields = [
        {one["field"] for one in json.loads(found.stdout) if one["object"].startswith("AROCluster")}
        for found in (refused, added)
    ]
    wrong = {
        "spec.resources[0].kind",
        "spec.resources[1].metadata.namespace",
        "spec.resources[1].metadata.finalizers",
    }
    assert fields == [wrong | {"spec.resources[2].kind"}, wrong]
    assert isinstance(wild.exception, errors.InvalidSettings)
    assert "without wildcards" in str(wild.exception)


def test_validate_tells_file_and_line_and_exits_with_three(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    _run("init", *ANSWERS, "--identity", "capz", "-d", str(folder))
    file = folder / "03-arocontrolplane.yaml"
    text = file.read_text().replace("podCidr: 10.128.0.0/14", "podCidr: 10.0.0.0/14")
    file.write_text(text)

    found = _run("validate", "-f", str(folder))

    line = next(number for number, one in enumerate(text.splitlines(), 1) if "podCidr" in one)
    assert found.exit_code == 3
    assert f"{file}:{line}: error: AROControlPlane default/shop" in found.stdout
    assert "overlap" in found.stdout


def test_graph_is_mermaid_a_sound_svg_or_json(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    _run("init", *ANSWERS, "--identity", "capz", "-d", str(folder))

    text = _run("graph", "-f", str(folder)).stdout
    picture = ET.fromstring(_run("graph", "-f", str(folder), "-o", "svg").stdout)  # noqa: S314 - ours
    created = json.loads(_run("graph", "-f", str(folder), "-o", "json").stdout)

    assert text.startswith("flowchart LR\n")
    assert text.count("subgraph") == 3
    boxes = [one for one in picture.iter() if one.tag.endswith("rect")]
    assert len(boxes) == 1 + sum(len(group["resources"]) for group in created["groups"])
    assert {
        "needing": "VirtualNetwork/shop-vnet",
        "needed": "ResourceGroup/shop-rg",
        "path": "spec.owner",
    } in (created["edges"])


def test_plan_says_what_there_is_when_asked_to_remove_something_else(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    _run("init", *ANSWERS, "--identity", "capz", "-d", str(folder))

    found = _run("plan", "-f", str(folder), "--remove", "Vault/other")

    assert found.exit_code != 0
    assert "Vault/other" in str(found.exception)


def test_files_without_a_cluster_are_reported() -> None:
    given = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

    found = _run("validate", "-f", "-", given=given)

    assert found.exit_code != 0
    assert "hold no ARO HCP cluster" in str(found.exception)


# ── identities ──────────────────────────────────────────────────────────────────────────────────────────────


def _azure_identity(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "AzureClusterIdentity",
        "metadata": {"name": "capz", "namespace": "default"},
        "spec": {"type": "ServicePrincipal", "allowedNamespaces": {}, **spec},
    }


IDENTITIES: list[tuple[dict[str, Any], str, str]] = [
    (
        {"clientSecret": {"name": "s", "namespace": "kube-system"}},
        "spec.clientSecret.namespace",
        "kube-system",
    ),
    ({"clientSecret": {"name": "s", "namespace": 5}}, "spec.clientSecret.namespace", "5"),
    ({"clientSecret": ["s"]}, "spec.clientSecret", "want an object"),
    ({"certPath": "/etc/keys/tls.pem"}, "spec.certPath", "/etc/keys/tls.pem"),
    ({"type": "ServicePrincipalCertificate", "certPath": "/x"}, "spec.certPath", "/x"),
    ({"type": "WorkloadIdentity"}, "spec.type", "WorkloadIdentity"),
    ({"type": "UserAssignedMSI"}, "spec.type", "UserAssignedMSI"),
    (
        {"type": "UserAssignedIdentityCredential", "userAssignedIdentityCredentialsPath": "/y"},
        "spec.userAssignedIdentityCredentialsPath",
        "/y",
    ),
    ({"type": "ServicePrincipals"}, "spec.type", "ServicePrincipals"),
    ({"type": None}, "spec.type", "want one of"),
    ({"type": ["ServicePrincipal"]}, "spec.type", "want one of"),
]


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "with a cluster"])
@pytest.mark.parametrize(("spec", "field", "value"), IDENTITIES)
def test_validate_finds_identities_that_the_operator_refuses(
    spec: dict[str, Any], field: str, value: str, alone: bool
) -> None:
    """As the page about upgrades says, in a list as kubectl prints it."""
    others = [] if alone else list(aro.objects().values())
    given = {"apiVersion": "v1", "kind": "List", "items": [*others, _azure_identity(**spec)]}
    found = _run("validate", "-f", "-", "-o", "json", given=yaml.safe_dump(given))

    assert found.exit_code == 3, found.output
    errors_found = [one for one in json.loads(found.stdout) if one["severity"] == "error"]
    assert [(one["object"], one["field"]) for one in errors_found] == [
        ("AzureClusterIdentity default/capz", field)
    ]
    assert value in errors_found[0]["text"]


def test_validate_reports_all_problems_of_an_identity_at_once() -> None:
    spec = {"clientSecret": {"name": "s", "namespace": "other"}, "certPath": "/x", "type": "Other"}
    found = _run("validate", "-f", "-", "-o", "json", given=yaml.safe_dump(_azure_identity(**spec)))

    assert {one["field"] for one in json.loads(found.stdout)} == {
        "spec.clientSecret.namespace",
        "spec.certPath",
        "spec.type",
    }


def test_validate_takes_a_sound_identity_and_one_of_the_operators_namespace() -> None:
    sound = _azure_identity(clientSecret={"name": "s", "namespace": "default"})
    lent = _azure_identity(type="WorkloadIdentity")
    flag = ("--operator-namespace", "default")

    assert _run("validate", "-f", "-", given=yaml.safe_dump(sound)).exit_code == 0
    assert _run("validate", "-f", "-", *flag, given=yaml.safe_dump(lent)).exit_code == 0
    lent["metadata"]["namespace"] = "vestibule-system"
    assert _run("validate", "-f", "-", given=yaml.safe_dump(lent)).exit_code == 0


def test_an_identity_alone_is_no_cluster_to_plan() -> None:
    for word in ("plan", "graph"):
        found = _run(word, "-f", "-", given=yaml.safe_dump(_azure_identity()))
        assert "hold no ARO HCP cluster" in str(found.exception)


# ── exit codes ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "words", [("plan",), ("plan", "-o", "json"), ("plan", "--remove", "Vault/shop-vault"), ("graph",)]
)
@pytest.mark.parametrize(
    "entry",
    [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
        {"apiVersion": "resources.azure.com/v1api20200601", "kind": "ResourceGroup", "metadata": {}},
        {
            "apiVersion": "resources.azure.com/v1api20200601",
            "kind": "ResourceGroup",
            "metadata": {"name": "a"},
            "spec": 5,
        },
        {
            "apiVersion": "resources.azure.com/v1api20200601",
            "kind": "ResourceGroup",
            "metadata": {"name": "a"},
            "data": {},
        },
    ],
    ids=["another kind", "no name", "no object", "another field"],
)
def test_who_plans_refused_entries_gets_the_code_of_validate(words: tuple[str, ...], entry: Any) -> None:
    objects = aro.objects()
    objects["AROCluster"]["spec"]["resources"].append(entry)
    given = yaml.safe_dump_all(objects.values())
    checked = _run("validate", "-f", "-", given=given)
    found = _run(*words, "-f", "-", given=given)

    assert checked.exit_code == found.exit_code == 3
    assert found.stdout, "the rest is shown all the same"
    assert f"spec.resources[{len(objects['AROCluster']['spec']['resources']) - 1}]" in found.stderr


def test_a_sound_cluster_is_planned_and_drawn_with_code_zero() -> None:
    given = yaml.safe_dump_all(aro.objects().values())

    for words in (("plan",), ("plan", "--remove", "Vault/shop-vault"), ("graph",)):
        assert _run(*words, "-f", "-", given=given).exit_code == 0


def test_a_kind_that_is_added_is_planned() -> None:
    objects = aro.objects()
    gateway = {
        "apiVersion": "network.azure.com/v1api20220701",
        "kind": "NatGateway",
        "metadata": {"name": "nat"},
        "spec": {"owner": {"name": "shop-rg"}},
    }
    objects["AROCluster"]["spec"]["resources"].append(gateway)
    given = yaml.safe_dump_all(objects.values())
    flag = ("--aro-kind", "network.azure.com/NatGateway/natgateways")

    for words in (("plan",), ("graph",)):
        assert _run(*words, "-f", "-", given=given).exit_code == 3
        added = _run(*words, "-f", "-", *flag, given=given)
        assert (added.exit_code, "NatGateway" in added.stdout) == (0, True)
