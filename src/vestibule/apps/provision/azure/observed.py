"""What exists already: calls that only read, in as few rounds as there are. No decision is made here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from vestibule.adapters.clouds.azure.arm import Arm
from vestibule.adapters.clouds.azure.values import (
    Account,
    Assignment,
    Container,
    Credential,
    Group,
    Identity,
    Role,
    Thing,
)
from vestibule.apps.provision.azure.request import Wanted, roles

T = TypeVar("T")


class Observed(NamedTuple):
    """The world as it was a moment ago."""

    oidc_group: Group | None = None
    installation_group: Group | None = None
    account: Account | None = None
    container: Container | None = None
    identities: Mapping[str, Identity] = {}
    """By name in lower case."""
    roles: Mapping[str, tuple[Role, ...]] = {}
    """By title: the definitions that bear it."""
    assignments: Mapping[str, tuple[Assignment, ...]] = {}
    """By principal."""
    credentials: Mapping[str, tuple[Credential, ...]] = {}
    """By the identity's name in lower case."""


NOTHING = Observed()


class Belongings(NamedTuple):
    """What a name has in a subscription, for its removal."""

    oidc_group: Group | None
    account: Account | None
    identities: tuple[Identity, ...]
    roles: tuple[Role, ...]
    """Custom ones."""
    assignments: tuple[Assignment, ...]
    """Of the whole subscription."""
    resources: tuple[Thing, ...] = ()
    """Everything in the OIDC group."""


def issuer(arm: Arm, wanted: Wanted) -> Observed:
    """What matters to the issuer."""
    names = wanted.names
    group = arm.group(names.oidc_group)
    account = arm.account(names.oidc_group, names.account) if group else None
    container = arm.container(names.oidc_group, names.account, names.container) if account else None
    return Observed(oidc_group=group, account=account, container=container)


def identities(arm: Arm, wanted: Wanted, parallel: int) -> Observed:
    """What matters to the identities."""
    names = wanted.names
    asked = [roles(request)[0] for request in wanted.requests]
    titles = dict.fromkeys(title for one in asked for title in one.bindings)
    for request, one in zip(wanted.requests, asked, strict=True):
        if one.actions or one.data_actions:
            titles[names.identity(request)] = None
    group, installation = arm.group(names.oidc_group), arm.group(names.installation_group)
    wanted_names = {names.identity(request).lower() for request in wanted.requests}
    listed = arm.identities(names.oidc_group) if group and wanted_names else []
    found = {one.name.lower(): one for one in listed if one.name.lower() in wanted_names}
    with ThreadPoolExecutor(parallel, thread_name_prefix="observe") as pool:
        known_roles = _each(pool, titles, lambda title: tuple(arm.roles_called(title)))
        principals = [one.principal for one in found.values() if one.principal]
        assignments = _each(pool, principals, lambda principal: tuple(arm.assignments(principal)))
        credentials = _each(
            pool, found, lambda name: tuple(arm.credentials(names.oidc_group, found[name].name))
        )
    return Observed(
        oidc_group=group,
        installation_group=installation,
        identities=found,
        roles=known_roles,
        assignments=assignments,
        credentials=credentials,
    )


def belongings(arm: Arm, group: str, account: str) -> Belongings:
    """What there may be to delete."""
    found = arm.group(group)
    return Belongings(
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
