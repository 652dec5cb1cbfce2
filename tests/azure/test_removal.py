"""Deletes: what is ours goes, everything else stays, and the user is told what stayed and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.azure import values
from tests.azure.values import assignment, identity
from vestibule.clouds.azure.resources import AzureResource, AzureRole, ResourceGroup, StorageAccount
from vestibule.provision.azure import delete_plan
from vestibule.provision.azure.observed import ObservedForDelete
from vestibule.provision.inventory import Inventory
from vestibule.provision.steps import OwnedResource, StepPlan, ordered

ROLE = AzureRole(
    "/r/R1", "R1", "demo1-ns1-secret1", "Custom role for OpenShift. Owned by: demo1", custom=True
)
NEIGHBOUR = ROLE._replace(name="R2", description="Custom role for OpenShift. Owned by: demo10")
ALL = (
    AzureResource("Microsoft.Storage/storageAccounts", "demo1", {}),
    AzureResource("Microsoft.ManagedIdentity/userAssignedIdentities", "demo1-ns1-secret1", {}),
)


def belongings(**more: Any) -> ObservedForDelete:
    created = ObservedForDelete(
        ResourceGroup("demo1-oidc", "eastus", values.OWNED),
        StorageAccount("demo1-oidc", "demo1", "eastus", values.OWNED),
        (identity(),),
        (ROLE, NEIGHBOUR),
        (assignment(role="/r/R1"), assignment(id="A2", name="A2")),
        ALL,
    )
    return created._replace(**more)


def planned(found: ObservedForDelete, inventory: Inventory | None = None, *, whole: bool = False) -> StepPlan:
    return delete_plan.plan(found, values.NAMES, inventory, entire_group=whole)


def told(found: StepPlan) -> list[str]:
    return [step.title for step in ordered(found.steps)]


def test_roles_by_description_identities_by_tag_then_the_account() -> None:
    titles = told(planned(belongings()))

    assert sum("role " in title and "custom" not in title for title in titles) == 2
    assert {
        "custom role demo1-ns1-secret1",
        "managed identity demo1-ns1-secret1",
        "storage account demo1",
    } <= {*titles}
    assert titles.index("custom role demo1-ns1-secret1") > 0


def test_a_role_whose_owner_only_begins_with_our_name_stays() -> None:
    assert not [step for step in planned(belongings()).steps if step.id == "role/R2"]


def test_an_account_without_our_tag_stays_and_is_reported() -> None:
    theirs = StorageAccount("demo1-oidc", "demo1", "eastus", {})

    found = planned(belongings(account=theirs))

    assert not [title for title in told(found) if "storage account" in title]
    assert [
        remark for remark in found.remarks if "storage account demo1" in remark and "not deleted" in remark
    ]


def test_an_account_that_the_inventory_knows_is_ours_even_without_a_tag(tmp_path: Path) -> None:
    inventory = Inventory(tmp_path, "azure", "demo1")
    inventory.add(OwnedResource("account", "demo1-oidc/demo1"), "account/demo1")

    found = planned(belongings(account=StorageAccount("demo1-oidc", "demo1", "eastus", {})), inventory)

    assert "storage account demo1" in told(found)


def test_identities_of_others_stay() -> None:
    theirs = identity(name="mine", tags={})

    found = planned(belongings(identities=(identity(), theirs)))

    assert not [step for step in found.steps if step.id == "identity/mine"]
    assert "managed identity mine has no tag of vestibule: not deleted" in found.remarks


def test_a_group_goes_as_a_whole_only_if_nothing_else_is_in_it() -> None:
    alone = planned(belongings(), whole=True)
    crowded = planned(
        belongings(resources=(*ALL, AzureResource("Microsoft.Compute/disks", "data", {}))), whole=True
    )
    untagged = planned(belongings(oidc_group=ResourceGroup("demo1-oidc", "eastus", {})), whole=True)

    assert told(alone)[-1] == "resource group demo1-oidc"
    assert not [title for title in told(alone) if "storage account" in title]
    for stored in (crowded, untagged):
        assert "resource group demo1-oidc" not in told(stored)
        assert [remark for remark in stored.remarks if "resource group demo1-oidc is not deleted" in remark]


def test_assignments_without_properties_are_left_alone() -> None:
    odd = assignment(name="", scope="", role="", principal="")

    found = planned(belongings(assignments=(odd,)))

    assert not [step for step in found.steps if step.id.startswith("unassign/")]
    assert [remark for remark in found.remarks if remark.startswith("1 role assignments")]


def test_nothing_there_nothing_to_do() -> None:
    assert planned(ObservedForDelete(None, None, (), (), ())).steps == ()


def test_an_account_under_another_name_that_bears_our_tag_does_not_keep_the_group() -> None:
    other = AzureResource("Microsoft.Storage/storageAccounts", "mycluster", values.OWNED)

    found = planned(belongings(account=None, resources=(*ALL[1:], other)), whole=True)

    assert told(found)[-1] == "resource group demo1-oidc"
