"""What we know of things in Azure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Group(NamedTuple):
    """A resource group."""

    name: str
    location: str
    tags: Mapping[str, str]


class Thing(NamedTuple):
    """Any resource."""

    kind: str
    name: str
    tags: Mapping[str, str]


class Account(NamedTuple):
    """A storage account."""

    group: str
    name: str
    location: str
    tags: Mapping[str, str]
    public: bool = True
    """Whether it lets containers be public."""
    web: str = ""
    """Address of its static website; empty while it has none."""


class Container(NamedTuple):
    """A container of blobs."""

    name: str
    public: str
    """``None``, ``Blob`` or ``Container``."""


class Identity(NamedTuple):
    """A user-assigned managed identity."""

    id: str
    group: str
    name: str
    location: str
    tags: Mapping[str, str]
    principal: str = ""
    client: str = ""
    tenant: str = ""


class Role(NamedTuple):
    """A role definition."""

    id: str
    name: str
    """Its GUID."""
    title: str
    description: str
    actions: tuple[str, ...] = ()
    data_actions: tuple[str, ...] = ()
    custom: bool = False


class Assignment(NamedTuple):
    """A role that a principal has somewhere. Azure may list ones that lack most of this."""

    id: str
    name: str
    scope: str
    role: str
    """Id of the role definition."""
    principal: str
    description: str = ""


class Credential(NamedTuple):
    """A federated credential: whose tokens are taken for the identity's."""

    name: str
    issuer: str
    subject: str
    audiences: tuple[str, ...]
