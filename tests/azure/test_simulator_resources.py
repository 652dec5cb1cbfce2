"""Groups, accounts, containers, identities and credentials, through the real SDKs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.azure.clients import ACCOUNT, Clients, clients, refused
from tests.azure.simulator import Simulated
from vestibule_simulators.azure.state import SimulatorSettings

CREDENTIAL = {
    "properties": {
        "issuer": "https://issuer.example",
        "subject": "system:serviceaccount:ns:a",
        "audiences": ["openshift"],
    }
}


@pytest.fixture
def azure(simulator: Simulated) -> Iterator[Clients]:
    with clients(simulator) as created:
        created.groups.resource_groups.create_or_update("rg", {"location": "eastus", "tags": {"a": "b"}})
        yield created


def test_groups_are_found_by_any_letter_case_and_keep_theirs(azure: Clients) -> None:
    azure.groups.resource_groups.create_or_update("RG", {"location": "East US", "tags": {"c": "d"}})
    found = azure.groups.resource_groups.get("rG")

    assert (found.name, found.location, found.tags) == ("rg", "eastus", {"c": "d"})


def test_a_group_is_in_one_region(azure: Clients) -> None:
    with refused(409, "InvalidResourceGroupLocation"):
        azure.groups.resource_groups.create_or_update("rg", {"location": "westus3"})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"tags": {}}, "LocationRequired"),
        ({"location": "eastus", "tag": {}}, "InvalidRequestContent"),
        ({"location": "eastus", "tags": {"a/b": "c"}}, "InvalidTagNameCharacters"),
        ({"location": "eastus", "tags": {"a": "x" * 257}}, "InvalidTagValueLength"),
        ({"location": "eastus", "tags": {f"t{n}": "" for n in range(51)}}, "TagsLimitExceeded"),
    ],
    ids=["no place", "misspelt field", "sign in tag", "long value", "51 tags"],
)
def test_a_wrong_group_is_refused(azure: Clients, body: dict[str, object], code: str) -> None:
    with refused(400, code):
        azure.groups.resource_groups.create_or_update("other", body)


def test_names_of_groups_have_rules(azure: Clients) -> None:
    with refused(400, "InvalidResourceGroupName"):
        azure.groups.resource_groups.create_or_update("ends.", {"location": "eastus"})


def test_what_does_not_exist_is_reported_with_azures_own_codes(azure: Clients) -> None:
    with refused(404, "ResourceGroupNotFound"):
        azure.groups.resource_groups.get("nothing")
    with refused(404, "ResourceGroupNotFound"):
        list(azure.storage.storage_accounts.list_by_resource_group("nothing"))
    with refused(404, "ResourceNotFound"):
        azure.identities.user_assigned_identities.get("rg", "nothing")
    with refused(404, "ParentResourceNotFound"):
        azure.identities.federated_identity_credentials.get("rg", "nothing", "abc")


def test_a_deleted_group_takes_everything_with_it(azure: Clients, simulator: Simulated) -> None:
    azure.storage.storage_accounts.begin_create("rg", "demo1", ACCOUNT).result()
    azure.identities.user_assigned_identities.create_or_update("rg", "ident", {"location": "eastus"})
    azure.groups.resource_groups.begin_delete("rg").result()

    assert not simulator.state.get("resources") or all(
        one["type"] == "Microsoft.Authorization/roleAssignments" for one in simulator.state["resources"]
    )
    assert azure.storage.storage_accounts.check_name_availability({"name": "demo1"}).name_available


def test_an_account_is_made_changed_listed_and_deleted(azure: Clients) -> None:
    created = azure.storage.storage_accounts.begin_create("rg", "demo1", ACCOUNT).result()
    azure.storage.storage_accounts.update("rg", "demo1", {"tags": {"x": "y"}})
    (listed,) = azure.storage.storage_accounts.list_by_resource_group("rg")
    keys = azure.storage.storage_accounts.list_keys("rg", "demo1")
    found = [(one.type, one.name) for one in azure.groups.resources.list_by_resource_group("rg")]
    azure.storage.storage_accounts.delete("rg", "demo1")
    azure.storage.storage_accounts.delete("rg", "demo1")

    assert created.provisioning_state == "Succeeded"
    assert (listed.tags, listed.allow_blob_public_access, listed.location) == ({"x": "y"}, True, "eastus")
    assert [key.key_name for key in keys.keys_property] == ["key1", "key2"]
    assert found == [("Microsoft.Storage/storageAccounts", "demo1")]
    assert list(azure.storage.storage_accounts.list_by_resource_group("rg")) == []


def test_names_of_accounts_are_unique_in_the_cloud_and_have_rules(azure: Clients) -> None:
    azure.groups.resource_groups.create_or_update("rg2", {"location": "eastus"})
    azure.storage.storage_accounts.begin_create("rg", "demo1", ACCOUNT).result()

    with refused(409, "StorageAccountAlreadyTaken"):
        azure.storage.storage_accounts.begin_create("rg2", "demo1", ACCOUNT)
    with refused(400, "AccountNameInvalid"):
        azure.storage.storage_accounts.begin_create("rg", "my-account", ACCOUNT)
    assert not azure.storage.storage_accounts.check_name_availability({"name": "demo1"}).name_available


def test_an_account_without_public_access_has_no_public_container(azure: Clients) -> None:
    private = {**ACCOUNT, "properties": {}}
    azure.storage.storage_accounts.begin_create("rg", "demo1", private).result()

    with refused(409, "PublicAccessNotPermitted"):
        azure.storage.blob_containers.create("rg", "demo1", "c01", {"properties": {"publicAccess": "Blob"}})
    with refused(404, "ContainerNotFound"):
        azure.storage.blob_containers.get("rg", "demo1", "c01")


def test_a_long_operation_is_waited_for_as_long_as_it_says(tmp_path: Path) -> None:
    with (
        Simulated(tmp_path, SimulatorSettings(operation_seconds=0.3)) as simulator,
        clients(simulator) as azure,
    ):
        azure.groups.resource_groups.create_or_update("rg", {"location": "eastus"})
        poller = azure.storage.storage_accounts.begin_create("rg", "demo1", ACCOUNT)
        early = azure.storage.storage_accounts.get_properties("rg", "demo1").provisioning_state
        late = poller.result().provisioning_state
        azure.groups.resource_groups.begin_delete("rg").result()

        assert (early, late) == ("Creating", "Succeeded")
        assert [one["status"] for one in simulator.calls if "asyncoperations" in one["path"]] == [202, 200]
        assert simulator.violations == []
        assert not azure.groups.resource_groups.check_existence("rg")


def test_lists_come_in_pages(tmp_path: Path) -> None:
    with Simulated(tmp_path, SimulatorSettings(page_size=2)) as simulator, clients(simulator) as azure:
        azure.groups.resource_groups.create_or_update("rg", {"location": "eastus"})
        for number in range(5):
            azure.identities.user_assigned_identities.create_or_update(
                "rg", f"ident-{number}", {"location": "eastus"}
            )
        names = [one.name for one in azure.identities.user_assigned_identities.list_by_resource_group("rg")]
        titles = [one.role_name for one in azure.roles.role_definitions.list(simulator.root)]
        reader = azure.roles.role_definitions.list(simulator.root, filter="roleName eq 'Reader'")

        assert names == [f"ident-{number}" for number in range(5)]
        assert len(titles) == len(set(titles)) > 10
        assert [one.role_name for one in reader] == ["Reader"]
        assert sum("$skiptoken" in one["query"] for one in simulator.calls) >= 2 + 5


def test_an_identity_has_a_principal_for_life_and_tags_that_change(azure: Clients) -> None:
    calls = azure.identities.user_assigned_identities
    created = calls.create_or_update("rg", "ident", {"location": "eastus", "tags": {"a": "b"}})
    again = calls.create_or_update("rg", "IDENT", {"location": "eastus", "tags": {}})

    assert (created.principal_id, created.client_id) == (again.principal_id, again.client_id)
    assert (again.name, again.tags) == ("ident", {})


def test_credentials_have_rules(azure: Clients) -> None:
    azure.identities.user_assigned_identities.create_or_update("rg", "ident", {"location": "eastus"})
    calls = azure.identities.federated_identity_credentials
    calls.create_or_update("rg", "ident", "one", CREDENTIAL)
    calls.create_or_update("rg", "ident", "one", CREDENTIAL)

    with refused(409, "Conflict"):
        calls.create_or_update("rg", "ident", "two", CREDENTIAL)
    with refused(400, "BadRequest"):
        calls.create_or_update("rg", "ident", "a.b", CREDENTIAL)
    with refused(400, "BadRequest"):
        calls.create_or_update("rg", "ident", "two", {"properties": {"issuer": "https://x", "subject": "s"}})
    with refused(404, "NotFound"):
        calls.get("rg", "ident", "two")


def test_an_identity_takes_twenty_credentials_and_no_more(azure: Clients) -> None:
    azure.identities.user_assigned_identities.create_or_update("rg", "ident", {"location": "eastus"})

    def put(number: int) -> None:
        body = {"properties": {**CREDENTIAL["properties"], "subject": f"s{number}"}}
        azure.identities.federated_identity_credentials.create_or_update("rg", "ident", f"sa-{number}", body)

    for number in range(20):
        put(number)
    with refused(400, "BadRequest"):
        put(20)
    put(19)  # one that is there can still be written


def test_two_writes_to_one_identity_at_a_time_are_refused(tmp_path: Path) -> None:
    with Simulated(tmp_path, SimulatorSettings(write_seconds=60.0)) as simulator, clients(simulator) as azure:
        azure.groups.resource_groups.create_or_update("rg", {"location": "eastus"})
        azure.identities.user_assigned_identities.create_or_update("rg", "ident", {"location": "eastus"})
        calls = azure.identities.federated_identity_credentials
        calls.create_or_update("rg", "ident", "one", CREDENTIAL)
        with refused(409, "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity"):
            calls.create_or_update("rg", "ident", "one", CREDENTIAL)
        simulator.pass_time(61)
        calls.create_or_update("rg", "ident", "one", CREDENTIAL)


def test_versions_of_the_interface_are_checked(simulator: Simulated) -> None:
    odd = clients(simulator, api_version="1999-01-01")
    with odd as azure, refused(400, "InvalidApiVersionParameter"):
        azure.groups.resource_groups.get("rg")


def test_another_subscription_is_not_known(simulator: Simulated) -> None:
    simulator.settings.subscription = "11111111-0000-4000-8000-000000000001"
    with clients(simulator) as azure:
        simulator.settings.subscription = "22222222-0000-4000-8000-000000000002"
        with refused(404, "SubscriptionNotFound"):
            azure.groups.resource_groups.get("rg")
