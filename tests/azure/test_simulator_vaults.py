"""Vaults and keys of the simulator, through our own adapter and the real SDK."""

from __future__ import annotations

import pytest

from tests.azure.simulator import Simulated
from vestibule.adapters.clouds.azure.faults import CloudFault
from vestibule.adapters.clouds.azure.vaultkeys import VaultKeys
from vestibule.apps.simulate.azure import vaults


@pytest.fixture
def keys(simulator: Simulated) -> VaultKeys:
    simulator.arm().put_group("g", "eastus", {})
    group = f"{simulator.root}/resourceGroups/g"
    vault = {"id": f"{group}/providers/Microsoft.KeyVault/vaults/kv1", "name": "kv1", "location": "eastus"}
    world = simulator.running.simulator.world
    world.put(vault["id"], {**vault, "type": "Microsoft.KeyVault/vaults", "tags": {}, "properties": {}})
    return VaultKeys(simulator.credential(), simulator.settings.subscription, simulator.cloud)


def test_a_key_is_made_once(simulator: Simulated, keys: VaultKeys) -> None:
    first = keys.version("g", "kv1", "etcd")
    again = keys.version("g", "kv1", "etcd")

    assert first == again
    assert len(first.version) == 32
    assert first.created is not None
    assert [method for method, path in simulator.writes() if path.endswith("/keys/etcd")] == ["PUT"]


def test_a_key_that_was_rotated_has_another_version(simulator: Simulated, keys: VaultKeys) -> None:
    first = keys.version("g", "kv1", "etcd")
    made = vaults.rotate(simulator.running.simulator.world, "kv1", "etcd")

    assert keys.version("g", "kv1", "etcd").version == made != first.version


def test_no_key_is_made_where_there_is_no_vault(keys: VaultKeys) -> None:
    with pytest.raises(CloudFault) as caught:
        keys.version("g", "kv2", "etcd")

    assert caught.value.status == 404
