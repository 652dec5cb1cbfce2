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
from vestibule.cli.main import cli
from vestibule.core.aro import embedded, family, graph, names, planning, recipe
from vestibule.core.aro.shelf import FROM_VAULT

ANSWERS = (
    "--name", "shop", "--subscription", "00000000-0000-0000-0000-000000000001", "--location", "eastus",
)  # fmt: skip


def _run(*words: str, given: str = "") -> Result:
    return CliRunner().invoke(cli, ["aro", *words], input=given, catch_exceptions=True)


def _family(**answers: Any) -> family.Family:
    return family.families(aro.objects(**answers).values())[0]


def test_the_recipe_holds_thirteen_identities_and_29_assignments_in_an_order_that_works() -> None:
    resources = embedded.resources(aro.objects()["AROCluster"])
    kinds = [one["kind"] for one in resources]

    assert kinds.count("UserAssignedIdentity") == 13
    assert kinds.count("RoleAssignment") == 29
    made: set[embedded.Identity] = set()
    for one in graph.ordered(resources):
        needed = {edge.needed for edge in graph.edges(resources) if edge.needing == embedded.identity(one)}
        assert needed <= made
        made.add(embedded.identity(one))


def test_every_reference_of_the_recipe_names_something_in_it() -> None:
    every = planning.everything(_family())
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
    steps = planning.steps(_family())
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
    steps = planning.steps(_family(identity="", key_version="v7"))

    assert any("version v7, as written" in one.what for one in steps)
    assert not any("activeKey" in added.path for one in steps for added in one.added)


def test_the_removal_of_a_network_takes_its_subnets_and_breaks_the_cluster() -> None:
    found = planning.removal([_family()], "VirtualNetwork/shop-vnet")

    assert found is not None
    assert found.deleted[0] == "VirtualNetwork/shop-vnet"
    assert "VirtualNetworksSubnet/shop-subnet" in found.deleted
    assert "ResourceGroup/shop-rg" not in found.deleted
    assert any(one.startswith("HcpOpenShiftCluster/shop (") for one in found.broken)
    assert planning.removal([_family()], "VirtualNetwork/other") is None


@pytest.mark.parametrize(
    ("kind", "path", "value", "said"),
    [
        (names.NODE_POOL, "spec.owner.name", "other", "want 'shop', the HcpOpenShiftCluster"),
        (names.NODE_POOL, "spec.properties.version", {"id": "4.21.0"}, "newer than the cluster's"),
        (names.NODE_POOL, "spec.properties.version", {"id": "4.17.9"}, "more than two minor versions"),
    ],
)
def test_what_does_not_fit_between_objects_is_told(kind: str, path: str, value: Any, said: str) -> None:
    every = aro.objects()
    every["AROMachinePool"] = aro.changed(every["AROMachinePool"], kind, path, value)
    one = family.families(every.values())[0]

    assert any(said in found.text for found in family.mismatches(one, every.values()) if found.error)


def test_a_vault_that_nobody_declares_is_told() -> None:
    every = aro.objects()
    path = "spec.properties.etcd.dataEncryption.customerManaged.kms.vaultName"
    every["AROControlPlane"] = aro.changed(every["AROControlPlane"], names.HCP, path, "other")

    found = list(family.mismatches(family.families(every.values())[0], every.values()))

    (told,) = (one for one in found if "names vault 'other'" in one.text)
    assert (told.path, told.error) == (f"spec.resources[0].{path}", True)


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
        for one in recipe.problems(
            recipe.Answers("Bad_", "x", "EU", version="4", pool_version="5", replicas=-1, issuer="i")
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
    made = json.loads(_run("graph", "-f", str(folder), "-o", "json").stdout)

    assert text.startswith("flowchart LR\n")
    assert text.count("subgraph") == 3
    boxes = [one for one in picture.iter() if one.tag.endswith("rect")]
    assert len(boxes) == 1 + sum(len(group["resources"]) for group in made["groups"])
    assert {
        "needing": "VirtualNetwork/shop-vnet",
        "needed": "ResourceGroup/shop-rg",
        "path": "spec.owner",
    } in (made["edges"])


def test_plan_says_what_there_is_when_asked_to_remove_something_else(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    _run("init", *ANSWERS, "--identity", "capz", "-d", str(folder))

    found = _run("plan", "-f", str(folder), "--remove", "Vault/other")

    assert found.exit_code != 0
    assert "Vault/other" in str(found.exception)


def test_files_without_a_cluster_are_told() -> None:
    given = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

    found = _run("validate", "-f", "-", given=given)

    assert found.exit_code != 0
    assert "hold no ARO HCP cluster" in str(found.exception)
