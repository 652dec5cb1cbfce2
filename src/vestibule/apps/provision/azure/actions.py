"""What can be done in Azure, as values: a plan is made of these, and ``perform`` knows each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vestibule.adapters.clouds.azure.values import Credential
from vestibule.apps.provision.steps import Value
from vestibule.core.kinds.credentials import CredentialsRequest


class PutGroup(NamedTuple):
    """Create a resource group, or write its tags."""

    name: str
    location: str
    tags: Mapping[str, str]


class CreateAccount(NamedTuple):
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
    """Create a container, or say who may read it."""

    group: str
    account: str
    name: str
    public: str


class Publish(NamedTuple):
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


class PutRole(NamedTuple):
    """Write a custom role."""

    name: str
    title: str
    description: str
    actions: tuple[str, ...]
    data_actions: tuple[str, ...]


class Assign(NamedTuple):
    """Give a principal a role."""

    scope: str
    principal: Value
    role: str
    description: str


class Unassign(NamedTuple):
    """Take a role away."""

    scope: str
    name: str


class PutCredential(NamedTuple):
    """Trust the tokens of a ServiceAccount."""

    group: str
    identity: str
    credential: Credential


class DropCredential(NamedTuple):
    """Trust them no longer."""

    group: str
    identity: str
    name: str


class WriteSecret(NamedTuple):
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
