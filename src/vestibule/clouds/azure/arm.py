"""The resource manager: about twenty calls through the SDKs, values of ours in and out.

Reads give None for what does not exist. The SDKs repeat throttled and failed calls as the server asks;
what they give up on is a ``AzureCallError`` with Azure's own code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from vestibule.clouds.azure.endpoints import AzureEndpoints
from vestibule.clouds.azure.errors import AzureCallError, translated
from vestibule.clouds.azure.resources import (
    AzureResource,
    AzureRole,
    BlobContainer,
    FederatedCredential,
    ManagedIdentity,
    ResourceGroup,
    RoleAssignment,
    StorageAccount,
)

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

_ABSENT: Final = frozenset(
    {"ResourceGroupNotFound", "ResourceNotFound", "ContainerNotFound", "NotFound", "ParentResourceNotFound"}
)
_POLL: Final = 2.0
"""Seconds between polls of a long-running operation, unless the server sends Retry-After."""


class Arm:
    """One subscription."""

    def __init__(self, credential: TokenCredential, subscription: str, cloud: AzureEndpoints) -> None:
        from azure.mgmt.authorization import AuthorizationManagementClient
        from azure.mgmt.msi import ManagedServiceIdentityClient
        from azure.mgmt.resource.resources import ResourceManagementClient
        from azure.mgmt.storage import StorageManagementClient

        options: dict[str, Any] = {
            "base_url": cloud.resource_manager,
            "credential_scopes": [cloud.scope],
            "polling_interval": _POLL,
        }
        self.subscription = subscription
        self.scope = f"/subscriptions/{subscription}"
        self._groups = ResourceManagementClient(credential, subscription, **options)
        self._storage = StorageManagementClient(credential, subscription, **options)
        self._identities = ManagedServiceIdentityClient(credential, subscription, **options)
        self._roles = AuthorizationManagementClient(credential, subscription, **options)

    # ── groups ──────────────────────────────────────────────────────────────────────────────────────────────

    @translated
    def group(self, name: str) -> ResourceGroup | None:
        """Reading resource group."""
        found = _maybe(lambda: self._groups.resource_groups.get(name))
        return ResourceGroup(found.name, found.location, dict(found.tags or {})) if found else None

    @translated
    def put_group(self, name: str, location: str, tags: Mapping[str, str]) -> None:
        """Writing resource group."""
        self._groups.resource_groups.create_or_update(name, {"location": location, "tags": dict(tags)})

    @translated
    def delete_group(self, name: str) -> None:
        """Deleting resource group."""
        _gone(lambda: self._groups.resource_groups.begin_delete(name).result())

    @translated
    def resources(self, group: str) -> list[AzureResource]:
        """Listing resources of group."""
        found = _maybe(lambda: list(self._groups.resources.list_by_resource_group(group)))
        return [AzureResource(str(one.type), str(one.name), dict(one.tags or {})) for one in found or ()]

    # ── storage ─────────────────────────────────────────────────────────────────────────────────────────────

    @translated
    def account(self, group: str, name: str) -> StorageAccount | None:
        """Looking for storage account."""
        found = _maybe(lambda: list(self._storage.storage_accounts.list_by_resource_group(group)))
        for one in found or ():
            if str(one.name).lower() == name.lower():
                web = getattr(one.primary_endpoints, "web", None) or ""
                public = one.allow_blob_public_access is not False
                tags = dict(one.tags or {})
                return StorageAccount(group, one.name, one.location or "", tags, public, web.rstrip("/"))
        return None

    @translated
    def create_account(
        self, group: str, name: str, location: str, tags: Mapping[str, str], **more: Any
    ) -> None:
        """Creating storage account."""
        body = {
            "kind": "StorageV2",
            "sku": {"name": "Standard_LRS"},
            "location": location,
            "properties": more,
            "tags": dict(tags),
        }
        self._storage.storage_accounts.begin_create(group, name, body).result()  # type: ignore[call-overload]

    @translated
    def tag_account(self, group: str, name: str, tags: Mapping[str, str]) -> None:
        """Tagging storage account."""
        self._storage.storage_accounts.update(group, name, {"tags": dict(tags)})

    @translated
    def account_key(self, group: str, name: str) -> str:
        """Asking for the key of storage account; the first that has a value."""
        found = self._storage.storage_accounts.list_keys(group, name)
        for key in found.keys_property or ():
            if key.value:
                return str(key.value)
        raise AzureCallError(f"storage account {name}", "NoKey", 0, "it gives out no key")

    @translated
    def delete_account(self, group: str, name: str) -> None:
        """Deleting storage account."""
        _gone(lambda: self._storage.storage_accounts.delete(group, name))

    @translated
    def container(self, group: str, account: str, name: str) -> BlobContainer | None:
        """Reading container."""
        found = _maybe(lambda: self._storage.blob_containers.get(group, account, name))
        return BlobContainer(name, _text(found.public_access) or "None") if found else None

    @translated
    def put_container(self, group: str, account: str, name: str, public: str) -> None:
        """Writing container."""
        body = {"properties": {"publicAccess": public}}
        self._storage.blob_containers.create(group, account, name, body)  # type: ignore[call-overload]

    # ── identities ──────────────────────────────────────────────────────────────────────────────────────────

    @translated
    def identities(self, group: str) -> list[ManagedIdentity]:
        """Listing managed identities of group."""
        found = _maybe(lambda: list(self._identities.user_assigned_identities.list_by_resource_group(group)))
        return [_identity(group, one) for one in found or ()]

    @translated
    def put_identity(self, group: str, name: str, location: str, tags: Mapping[str, str]) -> ManagedIdentity:
        """Writing managed identity."""
        from azure.mgmt.msi.models import Identity as Body

        body = Body(location=location, tags=dict(tags))
        return _identity(group, self._identities.user_assigned_identities.create_or_update(group, name, body))

    @translated
    def delete_identity(self, group: str, name: str) -> None:
        """Deleting managed identity."""
        _gone(lambda: self._identities.user_assigned_identities.delete(group, name))

    @translated
    def credentials(self, group: str, identity: str) -> list[FederatedCredential]:
        """Listing federated credentials of managed identity."""
        calls = self._identities.federated_identity_credentials
        found = _maybe(lambda: list(calls.list(group, identity)))
        return [
            FederatedCredential(
                str(one.name), one.issuer or "", one.subject or "", tuple(map(str, one.audiences or ()))
            )
            for one in found or ()
        ]

    @translated
    def put_credential(self, group: str, identity: str, desired: FederatedCredential) -> None:
        """Writing federated credential of managed identity."""
        from azure.mgmt.msi.models import FederatedIdentityCredential as Body

        body = Body(issuer=desired.issuer, subject=desired.subject, audiences=list(desired.audiences))
        calls = self._identities.federated_identity_credentials
        calls.create_or_update(group, identity, desired.name, body)

    @translated
    def delete_credential(self, group: str, identity: str, name: str) -> None:
        """Deleting federated credential of managed identity."""
        calls = self._identities.federated_identity_credentials
        _gone(lambda: calls.delete(group, identity, name))

    # ── roles ───────────────────────────────────────────────────────────────────────────────────────────────

    @translated
    def roles_called(self, title: str) -> list[AzureRole]:
        """Looking for role."""
        quoted = title.replace("'", "''")
        return self._listed_roles(f"roleName eq '{quoted}'")

    @translated
    def custom_roles(self) -> list[AzureRole]:
        """Listing custom roles."""
        return self._listed_roles("type eq 'CustomRole'")

    def _listed_roles(self, query: str) -> list[AzureRole]:
        return [_role(one) for one in self._roles.role_definitions.list(self.scope, filter=query)]

    @translated
    def put_role(
        self, name: str, title: str, description: str, actions: Iterable[str], data: Iterable[str]
    ) -> None:
        """Writing custom role."""
        from azure.mgmt.authorization.v2022_04_01.models import Permission, RoleDefinition

        body = RoleDefinition(
            role_name=title,
            description=description,
            role_type="CustomRole",
            permissions=[Permission(actions=list(actions), data_actions=list(data))],
            assignable_scopes=[self.scope],
        )
        self._roles.role_definitions.create_or_update(self.scope, name, body)

    @translated
    def delete_role(self, name: str) -> None:
        """Deleting custom role."""
        _gone(lambda: self._roles.role_definitions.delete(self.scope, name))

    @translated
    def assignments(self, principal: str = "") -> list[RoleAssignment]:
        """Listing role assignments; of one principal, or all of the subscription."""
        query = f"assignedTo('{principal}')" if principal else None
        return [_assignment(one) for one in self._roles.role_assignments.list_for_subscription(filter=query)]

    @translated
    def assign(self, scope: str, name: str, principal: str, role: str, description: str) -> None:
        """Assigning role."""
        from azure.mgmt.authorization.v2022_04_01.models import RoleAssignmentCreateParameters

        body = RoleAssignmentCreateParameters(
            role_definition_id=role,
            principal_id=principal,
            principal_type="ServicePrincipal",
            description=description or None,
        )
        self._roles.role_assignments.create(scope, name, body)

    @translated
    def unassign(self, scope: str, name: str) -> None:
        """Taking role away."""
        _gone(lambda: self._roles.role_assignments.delete(scope, name))


def _maybe(call: Any) -> Any:
    """The answer, or None when what is asked for does not exist."""
    from azure.core.exceptions import HttpResponseError

    from vestibule.clouds.azure.errors import code_of

    try:
        return call()
    except HttpResponseError as error:
        if error.status_code == 404 and (not code_of(error) or code_of(error) in _ABSENT):
            return None
        raise


_gone = _maybe
"""A delete of what is gone already is done."""


def _identity(group: str, one: Any) -> ManagedIdentity:
    return ManagedIdentity(
        str(one.id or ""),
        group,
        str(one.name or ""),
        str(one.location or ""),
        dict(one.tags or {}),
        str(one.principal_id or ""),
        str(one.client_id or ""),
        str(one.tenant_id or ""),
    )


def _role(one: Any) -> AzureRole:
    blocks = one.permissions or ()
    return AzureRole(
        str(one.id or ""),
        str(one.name or ""),
        str(one.role_name or ""),
        str(one.description or ""),
        tuple(action for block in blocks for action in block.actions or ()),
        tuple(action for block in blocks for action in block.data_actions or ()),
        one.role_type == "CustomRole",
    )


def _assignment(one: Any) -> RoleAssignment:
    return RoleAssignment(
        str(one.id or ""),
        str(one.name or ""),
        str(one.scope or ""),
        str(one.role_definition_id or ""),
        str(one.principal_id or ""),
        str(one.description or ""),
    )


def _text(value: Any) -> str:
    return str(getattr(value, "value", value) or "")
