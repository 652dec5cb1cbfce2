"""What steps do, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.provision.steps import Value


class MakePool(NamedTuple):
    """Create a pool, or take back its deletion."""

    name: str
    deleted: bool


class CreateGcsBucket(NamedTuple):
    """Create the bucket of the issuer."""

    name: str
    region: str
    labels: Mapping[str, str]


class MakeGcsBucketPublic(NamedTuple):
    """Allow public reads."""

    name: str


class PublishToGcs(NamedTuple):
    """Publish discovery document and keys."""

    bucket: str


class MakeProvider(NamedTuple):
    """Bring a provider about: created, taken back, or with what it lacks."""

    pool: str
    name: str


class MakeRole(NamedTuple):
    """Create a custom role, take back its deletion, or add permissions."""

    id: str
    title: str
    description: str
    permissions: tuple[str, ...]


class CreateServiceAccount(NamedTuple):
    """Create a service account."""

    id: str
    display: str
    description: str


class Bind(NamedTuple):
    """Give an account its roles in the project."""

    email: Value
    roles: tuple[str, ...]


class Trust(NamedTuple):
    """Let ServiceAccounts of the cluster act as an account."""

    email: Value
    members: tuple[str, ...]


class WriteGcpSecret(NamedTuple):
    """Write the manifest of a Secret."""

    request: CredentialsRequest
    email: Value


class DeleteGcpResource(NamedTuple):
    """Delete one thing."""

    kind: str
    id: str
    within: str = ""
    """The pool of a provider."""
