"""The role that ``vestibule azure role`` prints is enough for the run, and every action in it is needed.

The simulator lets a login do what its role assignments say, and nothing else.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.azure.provisioning_run import Stage
from tests.azure.scenario import Fresh, attempt
from tests.azure.simulator import Simulated
from vestibule.provision.azure import installer_role
from vestibule_simulators.azure import state

NEVER_CALLED = {
    # for subscriptions that have never seen the provider; Azure asks for them on the first use
    "Microsoft.Storage/register/action",
    "Microsoft.ManagedIdentity/register/action",
}
ONLY_ON_DRIFT = {
    # taking away what is no longer wanted, and deleting a whole group: not in these runs
    "Microsoft.Authorization/roleAssignments/delete",
    "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials/delete",
}


def give(simulator: Simulated, actions: list[str], data: list[str]) -> None:
    """The operator has this role, and no other."""
    world = simulator.running.simulator.world
    (principal,) = {
        one["properties"]["principalId"]
        for one in simulator.resources(state.ASSIGNMENT)
        if not one["properties"].get("description")
    }
    for key, one in [*world.resources.items()]:
        if one.get("type") == state.ASSIGNMENT and one["properties"]["principalId"] == principal:
            del world.resources[key]
    name, assigned, root = str(uuid.uuid4()), str(uuid.uuid4()), simulator.root
    role = f"{root}/providers/Microsoft.Authorization/roleDefinitions/{name}"
    created = [
        {
            "id": role,
            "name": name,
            "type": state.ROLE,
            "properties": {
                "roleName": "theirs",
                "description": "",
                "type": "CustomRole",
                "permissions": [{"actions": actions, "dataActions": data}],
                "assignableScopes": [root],
            },
        },
        {
            "id": f"{root}/providers/Microsoft.Authorization/roleAssignments/{assigned}",
            "name": assigned,
            "type": state.ASSIGNMENT,
            "properties": {"roleDefinitionId": role, "principalId": principal, "scope": root},
        },
    ]
    world.resources.update({str(one["id"]).lower(): one for one in created})


def definition(command: str) -> dict[str, Any]:
    return installer_role.role(command, "demo1", "00000000-0000-4000-8000-00000000cafe")


def test_the_role_for_create_all_is_enough(tmp_path: Path, simulator: Simulated) -> None:
    role = definition("create-all")
    give(simulator, role["Actions"], role["DataActions"])
    stage = Stage(tmp_path, simulator)

    stage.create()

    assert stage.create().plan.steps, "and for a second run"


def test_the_role_for_delete_is_enough(tmp_path: Path, simulator: Simulated) -> None:
    stage = Stage(tmp_path, simulator)
    stage.create()
    role = definition("delete")
    give(simulator, role["Actions"], role["DataActions"])

    stage.delete(entire_group=True)

    assert simulator.resources(state.IDENTITY) == []


@pytest.mark.slow
def test_nothing_can_be_taken_from_the_role_for_create_all(fresh: Fresh) -> None:
    role = definition("create-all")
    needless = []
    for action in sorted({*role["Actions"]} - NEVER_CALLED - ONLY_ON_DRIFT):
        with fresh() as stage:
            give(stage.simulator, [one for one in role["Actions"] if one != action], role["DataActions"])
            if not attempt(stage.create) and not attempt(stage.create):  # some are for a second run
                needless.append(action)

    assert needless == []
