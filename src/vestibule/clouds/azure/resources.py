"""What we know of things in Azure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class ResourceGroup(NamedTuple):
    """A resource group."""

    name: str
    location: str
    tags: Mapping[str, str]


class AzureResource(NamedTuple):
    """Any resource."""

    kind: str
    name: str
    tags: Mapping[str, str]


class StorageAccount(NamedTuple):
    """A storage account."""

    group: str
    name: str
    location: str
    tags: Mapping[str, str]
    public: bool = True
    """Whether it lets containers be public."""
    web: str = ""
    """Address of its static website; empty while it has none."""


class BlobContainer(NamedTuple):
    """A container of blobs."""

    name: str
    public: str
    """``None``, ``Blob`` or ``Container``."""


class ManagedIdentity(NamedTuple):
    """A user-assigned managed identity."""

    id: str
    group: str
    name: str
    location: str
    tags: Mapping[str, str]
    principal: str = ""
    client: str = ""
    tenant: str = ""


class AzureRole(NamedTuple):
    """An Azure role definition."""

    id: str
    name: str
    """Its GUID."""
    title: str
    description: str
    actions: tuple[str, ...] = ()
    data_actions: tuple[str, ...] = ()
    custom: bool = False


class RoleAssignment(NamedTuple):
    """A role that a principal has somewhere. Azure may list ones that lack most of this."""

    id: str
    name: str
    scope: str
    role: str
    """Id of the role definition."""
    principal: str
    description: str = ""


class FederatedCredential(NamedTuple):
    """A federated credential: whose tokens are taken for the identity's."""

    name: str
    issuer: str
    subject: str
    audiences: tuple[str, ...]
