"""The state of a subscription: calls that only read, in few rounds. No decision is made here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from vestibule.clouds.azure.arm import Arm
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
from vestibule.provision.azure.request import AzureRequest, roles

T = TypeVar("T")


class ObservedAzure(NamedTuple):
    """The resources of a name, as they were when they were read."""

    oidc_group: ResourceGroup | None = None
    installation_group: ResourceGroup | None = None
    account: StorageAccount | None = None
    container: BlobContainer | None = None
    identities: Mapping[str, ManagedIdentity] = {}
    """By name in lower case."""
    roles: Mapping[str, tuple[AzureRole, ...]] = {}
    """Role definitions by title."""
    assignments: Mapping[str, tuple[RoleAssignment, ...]] = {}
    """By principal."""
    credentials: Mapping[str, tuple[FederatedCredential, ...]] = {}
    """By the identity's name in lower case."""


NOTHING = ObservedAzure()


class ObservedForDelete(NamedTuple):
    """The resources that ``delete`` may remove."""

    oidc_group: ResourceGroup | None
    account: StorageAccount | None
    identities: tuple[ManagedIdentity, ...]
    roles: tuple[AzureRole, ...]
    """Custom ones."""
    assignments: tuple[RoleAssignment, ...]
    """Of the whole subscription."""
    resources: tuple[AzureResource, ...] = ()
    """Everything in the OIDC group."""


def oidc_group(arm: Arm, desired: AzureRequest) -> ObservedAzure:
    """The resource group of issuer and identities."""
    return ObservedAzure(oidc_group=arm.group(desired.names.oidc_group))


def issuer(arm: Arm, desired: AzureRequest, observed: ObservedAzure) -> ObservedAzure:
    """Storage account and container; the group is observed."""
    names = desired.names
    account = arm.account(names.oidc_group, names.account) if observed.oidc_group else None
    container = arm.container(names.oidc_group, names.account, names.container) if account else None
    return observed._replace(account=account, container=container)


def identities(arm: Arm, desired: AzureRequest, parallel: int, observed: ObservedAzure) -> ObservedAzure:
    """The installation group, identities, roles, assignments and credentials; the OIDC group is observed."""
    names = desired.names
    requested = [roles(request)[0] for request in desired.requests]
    titles = dict.fromkeys(title for one in requested for title in one.bindings)
    for request, one in zip(desired.requests, requested, strict=True):
        if one.actions or one.data_actions:
            titles[names.identity(request)] = None
    installation = arm.group(names.installation_group)
    desired_names = {names.identity(request).lower() for request in desired.requests}
    listed = arm.identities(names.oidc_group) if observed.oidc_group and desired_names else []
    found = {one.name.lower(): one for one in listed if one.name.lower() in desired_names}
    with ThreadPoolExecutor(parallel, thread_name_prefix="observe") as pool:
        known_roles = _each(pool, titles, lambda title: tuple(arm.roles_called(title)))
        principals = [one.principal for one in found.values() if one.principal]
        assignments = _each(pool, principals, lambda principal: tuple(arm.assignments(principal)))
        credentials = _each(
            pool, found, lambda name: tuple(arm.credentials(names.oidc_group, found[name].name))
        )
    return observed._replace(
        installation_group=installation,
        identities=found,
        roles=known_roles,
        assignments=assignments,
        credentials=credentials,
    )


def belongings(arm: Arm, group: str, account: str) -> ObservedForDelete:
    """Everything that may have to be deleted."""
    found = arm.group(group)
    return ObservedForDelete(
        found,
        arm.account(group, account) if found and account else None,
        tuple(arm.identities(group)) if found else (),
        tuple(arm.custom_roles()),
        tuple(arm.assignments()),
        tuple(arm.resources(group)) if found else (),
    )


def _each(pool: ThreadPoolExecutor, keys: Iterable[str], read: Callable[[str], T]) -> dict[str, T]:
    listed = [*keys]
    return dict(zip(listed, pool.map(read, listed), strict=True))
