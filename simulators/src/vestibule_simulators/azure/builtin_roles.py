"""Roles that every Azure has, with their own GUIDs; what they allow is enough for the calls we simulate."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

OWNER: Final = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
BLOB_CONTRIBUTOR: Final = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
CRYPTO_OFFICER: Final = "14b46e9e-c2b7-41b4-b07b-48a6ebf60603"
_BLOBS: Final = "Microsoft.Storage/storageAccounts/blobServices/containers"


class _Role(NamedTuple):
    guid: str
    title: str
    actions: tuple[str, ...] = ()
    not_actions: tuple[str, ...] = ()
    data_actions: tuple[str, ...] = ()


_ROLES: Final = (
    _Role(OWNER, "Owner", ("*",)),
    _Role(
        "b24988ac-6180-42a0-ab88-20f7382dd24c",
        "Contributor",
        ("*",),
        (
            "Microsoft.Authorization/*/Delete",
            "Microsoft.Authorization/*/Write",
            "Microsoft.Authorization/elevateAccess/Action",
        ),
    ),
    _Role("acdd72a7-3385-48ef-bd42-f606fba81ae7", "Reader", ("*/read",)),
    _Role(
        "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9",
        "User Access Administrator",
        ("*/read", "Microsoft.Authorization/*"),
    ),
    _Role(
        "f58310d9-a9f6-439a-9e8d-f62e7b41a168",
        "Role Based Access Control Administrator",
        ("*/read", "Microsoft.Authorization/roleAssignments/*"),
    ),
    _Role(
        "e40ec5ca-96e0-45a2-b4ff-59039f2c2b59",
        "Managed Identity Contributor",
        ("Microsoft.ManagedIdentity/userAssignedIdentities/*", "Microsoft.Resources/*/read"),
    ),
    _Role(
        "f1a07417-d97a-45cb-824c-7a7467783830",
        "Managed Identity Operator",
        ("Microsoft.ManagedIdentity/userAssignedIdentities/*/read", "Microsoft.Resources/*/read"),
    ),
    _Role(
        "17d1049b-9a84-46fb-8f53-869881c3d3ab",
        "Storage Account Contributor",
        ("Microsoft.Storage/storageAccounts/*", "Microsoft.Resources/*/read"),
    ),
    _Role(
        "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
        "Storage Blob Data Owner",
        (f"{_BLOBS}/*",),
        (),
        (f"{_BLOBS}/blobs/*",),
    ),
    _Role(
        BLOB_CONTRIBUTOR,
        "Storage Blob Data Contributor",
        (f"{_BLOBS}/read", f"{_BLOBS}/write", f"{_BLOBS}/delete"),
        (),
        (f"{_BLOBS}/blobs/*",),
    ),
    _Role(
        "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
        "Storage Blob Data Reader",
        (f"{_BLOBS}/read",),
        (),
        (f"{_BLOBS}/blobs/read",),
    ),
    _Role(
        CRYPTO_OFFICER,
        "Key Vault Crypto Officer",
        ("Microsoft.KeyVault/vaults/read", "Microsoft.KeyVault/checkNameAvailability/read"),
        (),
        ("Microsoft.KeyVault/vaults/keys/*", "Microsoft.KeyVault/vaults/keyrotationpolicies/*"),
    ),
    _Role(
        "12338af0-0e69-4776-bea7-57ae8d297424",
        "Key Vault Crypto User",
        (),
        (),
        (
            "Microsoft.KeyVault/vaults/keys/read",
            "Microsoft.KeyVault/vaults/keys/encrypt/action",
            "Microsoft.KeyVault/vaults/keys/decrypt/action",
        ),
    ),
    _Role("4d97b98b-1d4f-4787-a291-c67834d212e7", "Network Contributor", ("Microsoft.Network/*",)),
    _Role("befefa01-2a29-4197-83a8-272ff33ce314", "DNS Zone Contributor", ("Microsoft.Network/dnsZones/*",)),
    _Role(
        "b12aa53e-6015-4669-85d0-8515ebb3ae7f",
        "Private DNS Zone Contributor",
        ("Microsoft.Network/privateDnsZones/*",),
    ),
    _Role(
        "9980e02c-c2be-4d73-94e8-173b1dc7cf3c",
        "Virtual Machine Contributor",
        ("Microsoft.Compute/virtualMachines/*", "Microsoft.Compute/disks/read"),
    ),
)


@cache
def resources() -> dict[str, dict[str, Any]]:
    """The definitions as ARM shows them, by lower-case id."""
    return {f"/providers/microsoft.authorization/roledefinitions/{one.guid}": _body(one) for one in _ROLES}


def _body(role: _Role) -> dict[str, Any]:
    return {
        "id": f"/providers/Microsoft.Authorization/roleDefinitions/{role.guid}",
        "name": role.guid,
        "type": "Microsoft.Authorization/roleDefinitions",
        "properties": {
            "roleName": role.title,
            "type": "BuiltInRole",
            "description": f"{role.title}, as the simulator has it.",
            "assignableScopes": ["/"],
            "permissions": [
                {
                    "actions": list(role.actions),
                    "notActions": list(role.not_actions),
                    "dataActions": list(role.data_actions),
                    "notDataActions": [],
                }
            ],
        },
    }
