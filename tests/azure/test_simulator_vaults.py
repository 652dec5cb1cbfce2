"""Vaults and keys of the simulator, through our own adapter and the real SDKs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.azure.simulator import Simulated
from vestibule import errors
from vestibule.clouds.azure import endpoints, keyvault_keys
from vestibule.clouds.azure.errors import AzureCallError
from vestibule.clouds.azure.keyvault_keys import ResourceManagerKeys, VaultDataPlaneKeys, VaultKeys
from vestibule_simulators.azure import builtin_roles, state, vaults

CRYPTO_USER = "12338af0-0e69-4776-bea7-57ae8d297424"


def vaulted(simulator: Simulated) -> None:
    """One vault, in one group."""
    simulator.arm().put_group("g", "eastus", {})
    group = f"{simulator.root}/resourceGroups/g"
    vault = {"id": f"{group}/providers/Microsoft.KeyVault/vaults/kv1", "name": "kv1", "location": "eastus"}
    world = simulator.running.simulator.world
    world.put(vault["id"], {**vault, "type": "Microsoft.KeyVault/vaults", "tags": {}, "properties": {}})


def granted(simulator: Simulated, *roles: str) -> None:
    """What the login may do in the subscription, and no more."""
    world: Any = simulator.running.simulator.world
    for one in list(world.kind(state.ASSIGNMENT)):
        world.drop(one["id"])
    for number, role in enumerate(roles):
        name = f"{simulator.root}/providers/Microsoft.Authorization/roleAssignments/{number}"
        message = {
            "roleDefinitionId": f"/providers/Microsoft.Authorization/roleDefinitions/{role}",
            "principalId": simulator.settings.principal_id,
            "scope": simulator.root,
        }
        world.put(name, {"id": name, "name": str(number), "type": state.ASSIGNMENT, "properties": message})


WAYS = {
    "the resource manager": (builtin_roles.OWNER,),
    "the vault itself": (builtin_roles.CRYPTO_OFFICER,),
    "either": (builtin_roles.CRYPTO_OFFICER,),
}


@pytest.fixture(params=WAYS)
def keys(simulator: Simulated, request: pytest.FixtureRequest) -> VaultKeys:
    """The port, each of the ways that lead to a key."""
    vaulted(simulator)
    granted(simulator, *WAYS[request.param])
    credential, subscription = simulator.credential(), simulator.settings.subscription
    if request.param == "the resource manager":
        return ResourceManagerKeys(credential, subscription, simulator.cloud)
    if request.param == "the vault itself":
        return VaultDataPlaneKeys(credential, simulator.cloud)
    return keyvault_keys.either(credential, subscription, simulator.cloud)


def test_a_key_is_made_once(simulator: Simulated, keys: VaultKeys) -> None:
    first = keys.version("g", "kv1", "etcd")
    again = keys.version("g", "kv1", "etcd")

    assert first == again
    assert len(first.version) == 32
    assert first.created is not None
    made = [one for one in simulator.calls if one["method"] in ("PUT", "POST") and "/keys/" in one["path"]]
    assert [one["status"] for one in made] == [200]


def test_a_key_that_was_rotated_has_another_version(simulator: Simulated, keys: VaultKeys) -> None:
    first = keys.version("g", "kv1", "etcd")
    created = vaults.rotate(simulator.running.simulator.world, "kv1", "etcd")

    assert keys.version("g", "kv1", "etcd").version == created != first.version


def test_no_key_is_made_where_there_is_no_vault(keys: VaultKeys) -> None:
    with pytest.raises(AzureCallError) as caught:
        keys.version("g", "kv2", "etcd")

    assert caught.value.status in (403, 404)


def test_a_key_whose_making_is_not_answered_gets_no_second_version(simulator: Simulated) -> None:
    vaulted(simulator)
    granted(simulator, builtin_roles.CRYPTO_OFFICER)
    simulator.fault(on="POST *.vault/keys/etcd/create", mode="after", status=503, code="ServerBusy")
    keys = VaultDataPlaneKeys(simulator.credential(), simulator.cloud)
    with pytest.raises(AzureCallError, match="making the key in the vault"):
        keys.version("g", "kv1", "etcd")
    keys.version("g", "kv1", "etcd")

    created = [one for one in simulator.calls if one["path"].endswith("/etcd/create")]
    assert len([one for one in created if one["status"] != 401]) == 1


def test_the_vault_is_not_asked_while_the_manager_answers(simulator: Simulated) -> None:
    vaulted(simulator)
    keys = keyvault_keys.either(simulator.credential(), simulator.settings.subscription, simulator.cloud)
    keys.version("g", "kv1", "etcd")

    assert not [one for one in simulator.calls if ".vault/" in one["path"]]


def test_who_may_not_on_either_way_is_reported_both(simulator: Simulated) -> None:
    vaulted(simulator)
    granted(simulator, builtin_roles.BLOB_CONTRIBUTOR)
    keys = keyvault_keys.either(simulator.credential(), simulator.settings.subscription, simulator.cloud)
    with pytest.raises(errors.Forbidden) as caught:
        keys.version("g", "kv1", "etcd")

    text = str(caught.value)
    assert "AuthorizationFailed" in text
    assert "Key Vault Crypto Officer" in text
    assert "kv1, etcd" in text


def test_who_may_only_read_is_reported_that_no_key_can_be_made(simulator: Simulated) -> None:
    vaulted(simulator)
    granted(simulator, CRYPTO_USER)
    keys = VaultDataPlaneKeys(simulator.credential(), simulator.cloud)
    with pytest.raises(AzureCallError, match="making the key in the vault") as caught:
        keys.version("g", "kv1", "etcd")

    assert caught.value.status == 403


@pytest.mark.parametrize(
    ("cloud", "address"),
    [
        ("AzurePublicCloud", "https://kv1.vault.azure.net"),
        ("AzureUSGovernment", "https://kv1.vault.usgovcloudapi.net"),
        ("AzureChinaCloud", "https://kv1.vault.azure.cn"),
    ],
)
def test_vaults_of_sovereign_clouds_are_elsewhere(cloud: str, address: str) -> None:
    assert endpoints.of(cloud).vault("kv1") == address
