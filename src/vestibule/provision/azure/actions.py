"""The actions of steps in Azure, as values; ``perform`` knows each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.provision.steps import Value


class PutGroup(NamedTuple):
    """Create a resource group, or write its tags."""

    name: str
    location: str
    tags: Mapping[str, str]


class CreateStorageAccount(NamedTuple):
    """Create a storage account."""

    group: str
    name: str
    location: str
    tags: Mapping[str, str]
    properties: Mapping[str, bool]


class TagAccount(NamedTuple):
    """Write the tags of a storage account."""

    group: str
    name: str
    tags: Mapping[str, str]


class PutContainer(NamedTuple):
    """Create a container, or set its public access."""

    group: str
    account: str
    name: str
    public: str


class PublishToBlobs(NamedTuple):
    """Publish discovery document and keys."""

    group: str
    account: str
    container: str
    website: bool
    tags: Mapping[str, str]


class PutIdentity(NamedTuple):
    """Create a managed identity, or write its tags."""

    group: str
    name: str
    location: str
    tags: Mapping[str, str]


class PutRoleDefinition(NamedTuple):
    """Write a custom role."""

    name: str
    title: str
    description: str
    actions: tuple[str, ...]
    data_actions: tuple[str, ...]


class Assign(NamedTuple):
    """Create a role assignment."""

    scope: str
    principal: Value
    role: str
    description: str


class Unassign(NamedTuple):
    """Delete a role assignment."""

    scope: str
    name: str


class PutCredential(NamedTuple):
    """Create or update a federated credential: the identity trusts the tokens of a ServiceAccount."""

    group: str
    identity: str
    name: str
    issuer: Value
    subject: str
    audiences: tuple[str, ...]


class DeleteCredential(NamedTuple):
    """Delete a federated credential."""

    group: str
    identity: str
    name: str


class WriteAzureSecret(NamedTuple):
    """Write the manifest of a Secret."""

    request: CredentialsRequest
    client: Value
    tenant: Value


class DeleteRole(NamedTuple):
    """Delete a custom role."""

    name: str


class DeleteIdentity(NamedTuple):
    """Delete a managed identity, its credentials with it."""

    group: str
    name: str


class DeleteAccount(NamedTuple):
    """Delete a storage account."""

    group: str
    name: str


class DeleteGroup(NamedTuple):
    """Delete a resource group with everything in it."""

    name: str
