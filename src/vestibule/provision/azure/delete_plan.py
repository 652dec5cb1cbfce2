"""What a delete takes away: only what is known to be ours, by tag, by description or by inventory. Pure.

A storage account without our tag is not deleted but reported, and so is a group that holds anything that is
not ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vestibule.clouds.azure.resources import AzureRole, ManagedIdentity, RoleAssignment
from vestibule.provision.azure import actions as do
from vestibule.provision.azure import names as rules
from vestibule.provision.azure.names import AzureNames
from vestibule.provision.azure.observed import ObservedForDelete
from vestibule.provision.inventory import Inventory
from vestibule.provision.steps import OwnedResource, PlannedStep, StepPlan

_IDENTITY: Final = "microsoft.managedidentity/userassignedidentities"
_ACCOUNT: Final = "microsoft.storage/storageaccounts"


def plan(
    found: ObservedForDelete, names: AzureNames, inventory: Inventory | None, *, entire_group: bool
) -> StepPlan:
    """The steps: assignments, roles, identities, then the account or the group."""
    tag = names.owned_tag
    description = rules.ROLE_DESCRIPTION.format(names.name)
    roles = [one for one in found.roles if one.description == description]
    identities = [one for one in found.identities if one.tags.get(tag) == rules.OWNED]
    retained = [one for one in found.identities if one not in identities]
    remarks = [f"managed identity {one.name} has no tag of vestibule: not deleted" for one in retained]
    remarks += _odd(found.assignments)
    both = [*_roles(roles, found.assignments), *_identities(identities, found.assignments, names)]
    steps = [*{step.id: step for step in both}.values()]  # an identity's custom role is in both
    taken = {step.id for step in steps}
    account = found.account
    ours = account is not None and (
        account.tags.get(tag) == rules.OWNED
        or _known(inventory, "account", f"{account.group}/{account.name}")
    )
    if entire_group:
        steps += _group(found, names, identities, remarks, taken, inventory, account_ours=ours)
    elif account is not None and ours:
        action = do.DeleteAccount(account.group, account.name)
        resource = OwnedResource("account", f"{account.group}/{account.name}")
        steps.append(
            PlannedStep("account", "delete", f"storage account {account.name}", action, (), resource)
        )
    elif account is not None:
        remarks.append(
            f"storage account {account.name} has no tag {tag}={rules.OWNED}: not deleted, delete it "
            "yourself if it is yours"
        )
    return StepPlan(tuple(steps), {}, tuple(remarks))


def _roles(roles: list[AzureRole], assignments: tuple[RoleAssignment, ...]) -> Iterator[PlannedStep]:
    for role in roles:
        needs = []
        for one in assignments:
            if one.name and one.scope and one.role.rpartition("/")[2].lower() == role.name.lower():
                step = _unassign(one)
                needs.append(step.id)
                yield step
        yield PlannedStep(
            f"role/{role.name}",
            "delete",
            f"custom role {role.title}",
            do.DeleteRole(role.name),
            tuple(needs),
            OwnedResource("role", role.name),
        )


def _identities(
    identities: list[ManagedIdentity], assignments: tuple[RoleAssignment, ...], names: AzureNames
) -> Iterator[PlannedStep]:
    for identity in identities:
        needs = []
        for one in assignments:
            if one.name and one.scope and identity.principal and one.principal == identity.principal:
                step = _unassign(one)
                needs.append(step.id)
                yield step
        yield PlannedStep(
            f"identity/{identity.name}",
            "delete",
            f"managed identity {identity.name}",
            do.DeleteIdentity(names.oidc_group, identity.name),
            tuple(needs),
            OwnedResource("identity", f"{names.oidc_group}/{identity.name}"),
        )


def _unassign(one: RoleAssignment) -> PlannedStep:
    title = f"role {one.role.rpartition('/')[2]} at {one.scope} for {one.principal}"
    return PlannedStep(f"unassign/{one.scope}/{one.name}", "delete", title, do.Unassign(one.scope, one.name))


def _group(
    found: ObservedForDelete,
    names: AzureNames,
    identities: list[ManagedIdentity],
    remarks: list[str],
    before: set[str],
    inventory: Inventory | None,
    *,
    account_ours: bool,
) -> Iterator[PlannedStep]:
    group = found.oidc_group
    if group is None:
        return
    ours = {(_IDENTITY, one.name.lower()) for one in identities}
    if account_ours and found.account is not None:
        ours.add((_ACCOUNT, found.account.name.lower()))
    others = [
        f"{one.kind} {one.name}"
        for one in found.resources
        if (one.kind.lower(), one.name.lower()) not in ours and one.tags.get(names.owned_tag) != rules.OWNED
    ]
    tagged = group.tags.get(names.owned_tag) == rules.OWNED or _known(inventory, "group", group.name)
    if others or not tagged:
        why = f"it holds {', '.join(sorted(others))}" if others else f"it does not bear {names.owned_tag}"
        remarks.append(f"resource group {group.name} is not deleted: {why}")
        return
    yield PlannedStep(
        "group",
        "delete",
        f"resource group {group.name}",
        do.DeleteGroup(group.name),
        tuple(sorted(before)),
        OwnedResource("group", group.name),
    )


def _known(inventory: Inventory | None, kind: str, identifier: str) -> bool:
    return inventory is not None and inventory.holds(kind, identifier)


def _odd(assignments: tuple[RoleAssignment, ...]) -> list[str]:
    count = sum(not (one.name and one.scope and one.role and one.principal) for one in assignments)
    return [f"{count} role assignments are listed without details: not changed"] if count else []
