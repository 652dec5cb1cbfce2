"""What steps do, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.provision.steps import Value


class CreateS3Bucket(NamedTuple):
    """Create the bucket."""

    name: str
    constraint: str | None
    tags: Mapping[str, str]


class MakeS3BucketPublic(NamedTuple):
    """Allow public reads."""

    name: str
    policy: Mapping[str, Any]


class CreateDistribution(NamedTuple):
    """Create a distribution for a private bucket."""

    bucket: str
    origin: str
    tags: Mapping[str, str]


class PublishToS3(NamedTuple):
    """Publish discovery document and keys."""

    bucket: str
    issuer: Value
    tags: Mapping[str, str]


class CreateProvider(NamedTuple):
    """Let IAM trust the issuer."""

    issuer: Value
    tags: Mapping[str, str]


class AddClients(NamedTuple):
    """Let IAM take the audiences that are missing."""

    arn: str
    clients: tuple[str, ...]


class PutIamRole(NamedTuple):
    """Create a role, or write who may take it."""

    name: str
    exists: bool
    provider: Value
    request: CredentialsRequest
    boundary: str
    tags: Mapping[str, str]


class Permit(NamedTuple):
    """Write what a role may do."""

    name: str
    policy: Mapping[str, Any]


class WriteAwsSecret(NamedTuple):
    """Write the manifest of a Secret."""

    request: CredentialsRequest
    role: Value


class DeleteAwsResource(NamedTuple):
    """Delete one thing."""

    kind: str
    id: str
