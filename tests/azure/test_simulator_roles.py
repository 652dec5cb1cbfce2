"""Role definitions and assignments, and that they count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.azure.clients import Clients, clients, guid, refused, role
from tests.azure.simulator import Simulated
from vestibule_simulators.azure.state import SimulatorSettings

READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"


@pytest.fixture
def azure(simulator: Simulated) -> Iterator[Clients]:
    with clients(simulator) as created:
        created.groups.resource_groups.create_or_update("rg", {"location": "eastus"})
        yield created


@pytest.fixture
def principal(azure: Clients) -> str:
    created = azure.identities.user_assigned_identities.create_or_update(
        "rg", "ident", {"location": "eastus"}
    )
    return str(created.principal_id)


def assign(simulator: Simulated, azure: Clients, principal: str, name: str = "", **more: Any) -> Any:
    scope = f"{simulator.root}/resourceGroups/rg"
    definition = more.pop(
        "role", f"{simulator.root}/providers/Microsoft.Authorization/roleDefinitions/{READER}"
    )
    body = {"properties": {"roleDefinitionId": definition, "principalId": principal, **more}}
    return azure.roles.role_assignments.create(scope, name or guid(), body)


def test_built_in_roles_have_their_own_guids(azure: Clients, simulator: Simulated) -> None:
    (found,) = azure.roles.role_definitions.list(simulator.root, filter="roleName eq 'Reader'")

    assert (found.name, found.role_type, found.permissions[0].actions) == (READER, "BuiltInRole", ["*/read"])


def test_a_custom_role_is_unique_by_its_title(azure: Clients, simulator: Simulated) -> None:
    body = role("demo1-x", "Microsoft.Compute/disks/read", scope=simulator.root)
    first = guid()
    azure.roles.role_definitions.create_or_update(simulator.root, first, body)
    azure.roles.role_definitions.create_or_update(simulator.root, first, body)

    with refused(409, "RoleDefinitionWithSameNameExists"):
        azure.roles.role_definitions.create_or_update(simulator.root, guid(), body)
    with refused(400, "InvalidActionOrNotAction"):
        azure.roles.role_definitions.create_or_update(
            simulator.root, guid(), role("y", "no action", scope=simulator.root)
        )
    with refused(400, "InvalidRoleDefinitionId"):
        azure.roles.role_definitions.create_or_update(simulator.root, "x", body)
    (found,) = azure.roles.role_definitions.list(simulator.root, filter="type eq 'CustomRole'")
    assert found.name == first


def test_a_role_that_somebody_has_is_not_deleted(
    azure: Clients, simulator: Simulated, principal: str
) -> None:
    created = azure.roles.role_definitions.create_or_update(
        simulator.root, guid(), role("x", "*/read", scope=simulator.root)
    )
    given = assign(simulator, azure, principal, role=created.id)

    with refused(400, "RoleDefinitionHasAssignments"):
        azure.roles.role_definitions.delete(simulator.root, created.name)
    azure.roles.role_assignments.delete(given.scope, given.name)
    azure.roles.role_definitions.delete(simulator.root, created.name)
    assert list(azure.roles.role_definitions.list(simulator.root, filter="type eq 'CustomRole'")) == []


def test_one_assignment_exists_once_whatever_it_is_called(
    azure: Clients, simulator: Simulated, principal: str
) -> None:
    created = assign(simulator, azure, principal)
    again = assign(simulator, azure, principal, created.name)

    assert again.id == created.id
    with refused(409, "RoleAssignmentExists"):
        assign(simulator, azure, principal)
    with refused(409, "RoleAssignmentUpdateNotPermitted"):
        assign(simulator, azure, guid(), created.name, principalType="ServicePrincipal")
    listed = azure.roles.role_assignments.list_for_subscription(filter=f"assignedTo('{principal}')")
    assert [one.name for one in listed] == [created.name]


def test_nobody_and_nothing_can_be_assigned(azure: Clients, simulator: Simulated, principal: str) -> None:
    with refused(400, "PrincipalNotFound"):
        assign(simulator, azure, guid())
    with refused(400, "RoleDefinitionDoesNotExist"):
        assign(simulator, azure, principal, role=f"{simulator.root}/x/{guid()}")
    with refused(400, "UnmatchedPrincipalType"):
        assign(simulator, azure, principal, principalType="User")
    with refused(400, "InvalidRoleAssignmentId"):
        assign(simulator, azure, principal, "A1")


def test_who_names_the_type_of_a_principal_is_believed(azure: Clients, simulator: Simulated) -> None:
    created = assign(simulator, azure, guid(), principalType="ServicePrincipal", description="why")

    assert (created.principal_type, created.description) == ("ServicePrincipal", "why")


def test_other_parts_hear_of_new_things_later(tmp_path: Path) -> None:
    settings = SimulatorSettings(replication={"principal": 60, "role": 60, "parent": 60})
    with Simulated(tmp_path, settings) as simulator, clients(simulator) as azure:
        azure.groups.resource_groups.create_or_update("rg", {"location": "eastus"})
        one = azure.identities.user_assigned_identities.create_or_update(
            "rg", "ident", {"location": "eastus"}
        )
        created = azure.roles.role_definitions.create_or_update(
            simulator.root, guid(), role("x", "*/read", scope=simulator.root)
        )
        with refused(400, "PrincipalNotFound"):
            assign(simulator, azure, one.principal_id)
        with refused(400, "RoleDefinitionDoesNotExist"):
            assign(simulator, azure, one.principal_id, role=created.id)
        with refused(404, "ParentResourceNotFound"):
            azure.identities.federated_identity_credentials.create_or_update("rg", "ident", "abc", {})
        assert list(azure.roles.role_definitions.list(simulator.root, filter="roleName eq 'x'")) == []
        simulator.pass_time(61)
        assign(simulator, azure, one.principal_id, role=created.id)
        assert len(list(azure.roles.role_definitions.list(simulator.root, filter="roleName eq 'x'"))) == 1


def test_assignments_that_lack_nearly_everything_are_listed_as_they_are(
    azure: Clients, simulator: Simulated
) -> None:
    kind = "Microsoft.Authorization/roleAssignments"
    simulator.load(resources=[{"name": "A1", "type": kind}, {"type": kind, "properties": {"scope": "/y"}}])

    listed = azure.roles.role_assignments.list_for_subscription(filter=f"assignedTo('{guid()}')")

    assert [(one.name, one.role_definition_id) for one in listed] == [("A1", None)]
