"""The minimal custom role for a command. Pure."""

from __future__ import annotations

from typing import Any, Final

_GROUP: Final = "Microsoft.Resources/subscriptions/resourceGroups"
_ACCOUNT: Final = "Microsoft.Storage/storageAccounts"
_CONTAINER: Final = f"{_ACCOUNT}/blobServices/containers"
_IDENTITY: Final = "Microsoft.ManagedIdentity/userAssignedIdentities"
_CREDENTIAL: Final = f"{_IDENTITY}/federatedIdentityCredentials"
_ROLE: Final = "Microsoft.Authorization/roleDefinitions"
_ASSIGNMENT: Final = "Microsoft.Authorization/roleAssignments"

_ISSUER: Final = (
    f"{_GROUP}/read",
    f"{_GROUP}/write",
    f"{_ACCOUNT}/read",
    f"{_ACCOUNT}/write",
    f"{_CONTAINER}/read",
    f"{_CONTAINER}/write",
    "Microsoft.Storage/register/action",
)
_BLOBS: Final = (f"{_CONTAINER}/blobs/read", f"{_CONTAINER}/blobs/write", f"{_CONTAINER}/blobs/tags/write")
_IDENTITIES: Final = (
    f"{_GROUP}/read",
    f"{_GROUP}/write",
    f"{_IDENTITY}/read",
    f"{_IDENTITY}/write",
    f"{_CREDENTIAL}/read",
    f"{_CREDENTIAL}/write",
    f"{_CREDENTIAL}/delete",
    f"{_ROLE}/read",
    f"{_ROLE}/write",
    f"{_ASSIGNMENT}/read",
    f"{_ASSIGNMENT}/write",
    f"{_ASSIGNMENT}/delete",
    "Microsoft.ManagedIdentity/register/action",
)
_DELETE: Final = (
    f"{_GROUP}/read",
    f"{_GROUP}/delete",
    f"{_GROUP}/resources/read",
    f"{_ACCOUNT}/read",
    f"{_ACCOUNT}/delete",
    f"{_IDENTITY}/read",
    f"{_IDENTITY}/delete",
    f"{_ROLE}/read",
    f"{_ROLE}/delete",
    f"{_ASSIGNMENT}/read",
    f"{_ASSIGNMENT}/delete",
)


def role(command: str, name: str, subscription: str, mode: str = "blob") -> dict[str, Any]:
    """The role as JSON for the Azure CLI."""
    actions: set[str] = set()
    data: set[str] = set()
    if command in ("create-oidc-issuer", "create-all") and mode != "none":
        actions |= {*_ISSUER}
        data |= {*_BLOBS}
        if mode == "website":
            actions |= {f"{_ACCOUNT}/blobServices/read", f"{_ACCOUNT}/blobServices/write"}
    if command in ("create-managed-identities", "create-all"):
        actions |= {*_IDENTITIES}
    if command == "delete":
        actions |= {*_DELETE}
    return {
        "Name": f"vestibule {command} {name}",
        "IsCustom": True,
        "Description": f"What `vestibule azure {command} --name {name}` needs, and no more.",
        "Actions": sorted(actions),
        "NotActions": [],
        "DataActions": sorted(data),
        "NotDataActions": [],
        "AssignableScopes": [f"/subscriptions/{subscription}"],
    }
