"""What ``delete`` removes: what is ours, and nothing else. Similar resources are not deleted but reported.

Ours is what the inventory names, or what has our label or description, and still is what it was: the same
display name, the same title, the same project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vestibule.api.credentialsrequest import CredentialsRequest
from vestibule.clouds.gcp.buckets import GcsBucket
from vestibule.clouds.gcp.endpoints import GcpEndpoints, endpoints
from vestibule.clouds.gcp.pools import PoolProvider, WorkloadIdentityPool
from vestibule.clouds.gcp.project import Project
from vestibule.clouds.gcp.serviceaccounts import GcpCustomRole, GcpServiceAccount
from vestibule.oidc import documents
from vestibule.provision.gcp import actions, names, policies
from vestibule.provision.inventory import Inventory, InventoryEntry
from vestibule.provision.steps import OwnedResource, PlannedStep, StepPlan

_DOCUMENTS = (documents.DISCOVERY_NAME, documents.GCP.keys_name)


class DeleteInputs(NamedTuple):
    """The inputs of a removal."""

    name: str
    project: str
    universe: str
    requests: tuple[CredentialsRequest, ...] = ()
    roles: bool = False
    """Custom roles, too."""
    where: GcpEndpoints = endpoints()


class RemainingResources(NamedTuple):
    """What is there."""

    number: str
    bucket: GcsBucket | None = None
    objects: tuple[str, ...] = ()
    pool: WorkloadIdentityPool | None = None
    providers: Mapping[str, Mapping[str, PoolProvider]] = {}
    """By pool: the one of our name, and those in the inventory."""
    accounts: tuple[GcpServiceAccount, ...] = ()
    roles: Mapping[str, GcpCustomRole] = {}
    policy: Mapping[str, Any] = {}


def observe(project: Project, unwanted: DeleteInputs, known: Sequence[InventoryEntry]) -> RemainingResources:
    """Look; only reads."""
    number = project.number()
    bucket = project.buckets.bucket(names.bucket(unwanted.name))
    mine = bucket is not None and bucket.project == number
    named = {unwanted.name, *(one.id.partition("/")[0] for one in known if one.kind == "provider")}
    pools = {one: project.pools.pool(one) for one in sorted(named)}
    requested = _roles(unwanted, known) if unwanted.roles else {}
    roles = [project.accounts.role(one) for one in sorted(requested)]
    return RemainingResources(
        number,
        bucket,
        tuple(project.buckets.objects(bucket.name)) if bucket is not None and mine else (),
        pools[unwanted.name],
        {
            name: project.pools.providers(name)
            for name, one in pools.items()
            if one is not None and not one.deleted  # what is in a deleted pool is deleted with it
        },
        project.accounts.listed(),
        {role.id: role for role in roles if role is not None},
        project.policy(),
    )


def plan(unwanted: DeleteInputs, left: RemainingResources, known: Sequence[InventoryEntry]) -> StepPlan:
    """What to delete, and remarks about the rest."""
    remarks: list[str] = []
    accounts = [*_accounts(unwanted, left, known, remarks)]
    after = tuple(step.id for step in accounts)
    ours = {f"serviceAccount:{step.action.id}" for step in accounts}
    steps = [
        *accounts,
        *(_custom_roles(unwanted, left, known, ours, after, remarks)),
        *_pools(unwanted, left, known, remarks),
        *_bucket(unwanted, left, known, remarks),
    ]
    return StepPlan(tuple(steps), {}, tuple(remarks))


def forgotten(left: RemainingResources, known: Sequence[InventoryEntry]) -> Iterator[OwnedResource]:
    """What the inventory names and is there no longer."""
    existing = {("account", one.id) for one in left.accounts}
    existing |= {("role", one.id) for one in left.roles.values() if not one.deleted}
    existing |= {
        ("provider", f"{pool}/{name}")
        for pool, found in left.providers.items()
        for name, one in found.items()
        if not one.deleted
    }
    existing |= {("pool", left.pool.name)} if left.pool and not left.pool.deleted else set()
    existing |= {("bucket", left.bucket.name)} if left.bucket else set()
    observed_kinds = {"account", "provider", "pool", "bucket", *({"role"} if left.roles else ())}
    for one in known:
        if one.kind in observed_kinds and (one.kind, one.id) not in existing:
            yield OwnedResource(one.kind, one.id)


class GcpDeleter:
    """Does a step."""

    def __init__(self, project: Project, inventory: Inventory) -> None:
        self._project, self._inventory = project, inventory

    def __call__(self, step: PlannedStep) -> Mapping[str, str]:
        """Nothing is found out. Raises GcpCallError, Unavailable."""
        project = self._project
        match step.action:
            case actions.DeleteGcpResource("account", email):
                member = f"serviceAccount:{email}"
                # before the account: a policy keeps the names of those who are gone
                project.change_policy(lambda policy: policies.remove(policy, lambda _, one: one == member))
                project.accounts.delete(email)
            case actions.DeleteGcpResource("role", identifier):
                project.accounts.delete_role(identifier)
            case actions.DeleteGcpResource("pool", name):
                project.pools.delete(name)
                self._inventory.drop(OwnedResource("provider", f"{name}/{name}"))
            case actions.DeleteGcpResource("provider", name, pool):
                project.pools.delete_provider(pool, name)
            case actions.DeleteGcpResource("bucket", name):
                for one in _DOCUMENTS:
                    project.buckets.delete_object(name, one)
                project.buckets.delete(name)
        return {}


def _accounts(
    unwanted: DeleteInputs, left: RemainingResources, known: Sequence[InventoryEntry], remarks: list[str]
) -> Iterator[PlannedStep]:
    recorded = {(one.id, one.step) for one in known if one.kind == "account"}
    requested = {names.display(unwanted.name, request) for request in unwanted.requests}
    for one in left.accounts:
        display = one.display
        ours = (one.id, f"account/{display}") in recorded
        ours = ours or one.description == names.description(display, unwanted.name)
        ours = ours or (display in requested and names.our_account(one, unwanted.name))
        if ours:
            action = actions.DeleteGcpResource("account", one.email)
            title, resource = f"service account {display}", OwnedResource("account", one.id)
            yield PlannedStep(f"account/{one.email}", "delete", title, action, (), resource)
        elif display in requested or one.id in {identifier for identifier, _ in recorded}:
            remarks.append(f"service account {one.email} ({display}) has no mark of vestibule: not deleted")


def _roles(unwanted: DeleteInputs, known: Sequence[InventoryEntry]) -> dict[str, str]:
    """Custom roles that may be ours, and the titles that they should have."""
    found = {one.id: one.step.removeprefix("role/") for one in known if one.kind == "role"}
    for request in unwanted.requests:
        found[names.role(unwanted.project, request)] = names.role_title(unwanted.project, request)
    return found


def _custom_roles(
    unwanted: DeleteInputs,
    left: RemainingResources,
    known: Sequence[InventoryEntry],
    ours: set[str],
    after: tuple[str, ...],
    remarks: list[str],
) -> Iterator[PlannedStep]:
    requested = _roles(unwanted, known)
    if requested and not unwanted.roles:
        remarks.append("custom roles are not deleted; --force-delete-custom-roles deletes them, too")
    for identifier, role in left.roles.items():
        others = policies.members_of(left.policy, names.role_path(unwanted.project, identifier)) - ours
        others = {one for one in others if not one.startswith("deleted:")}
        if role.deleted:
            continue
        if not names.our_role(role, requested[identifier]):
            remarks.append(f"custom role {identifier} ({role.title}) has no mark of vestibule: not deleted")
        elif others:
            remarks.append(f"custom role {identifier} is used by {', '.join(sorted(others))}: not deleted")
        else:
            action, resource = (
                actions.DeleteGcpResource("role", identifier),
                OwnedResource("role", identifier),
            )
            yield PlannedStep(
                f"role/{identifier}", "delete", f"custom role {identifier}", action, after, resource
            )


def _pools(
    unwanted: DeleteInputs, left: RemainingResources, known: Sequence[InventoryEntry], remarks: list[str]
) -> Iterator[PlannedStep]:
    name, pool = unwanted.name, left.pool
    exists = pool is not None and not pool.deleted
    recorded = {(one.kind, one.id) for one in known}
    ours = exists and pool is not None and (("pool", name) in recorded or names.our_pool(pool))
    others = sorted(
        one.name for one in left.providers.get(name, {}).values() if not one.deleted and one.name != name
    )
    if ours and not others:
        action, resource = actions.DeleteGcpResource("pool", name), OwnedResource("pool", name)
        yield PlannedStep(f"pool/{name}", "delete", f"workload identity pool {name}", action, (), resource)
    elif ours:
        remarks.append(f"pool {name} has other providers ({', '.join(others)}): not deleted")
    elif exists:
        remarks.append(f"pool {name} has no mark of vestibule: not deleted")
    for within, found in left.providers.items():
        one = found.get(name)
        if one is None or one.deleted or (within == name and ours and not others):
            continue
        issuer = names.issuer(name, unwanted.universe)
        if one.issuer == issuer and (
            ("provider", f"{within}/{name}") in recorded or (within == name and ours)
        ):
            action = actions.DeleteGcpResource("provider", name, within)
            resource = OwnedResource("provider", f"{within}/{name}")
            title = f"workload identity provider {name} of pool {within}"
            yield PlannedStep(f"provider/{within}/{name}", "delete", title, action, (), resource)


def _bucket(
    unwanted: DeleteInputs, left: RemainingResources, known: Sequence[InventoryEntry], remarks: list[str]
) -> Iterator[PlannedStep]:
    bucket = left.bucket
    if bucket is None:
        return
    recorded = bucket.project == left.number and any(
        (one.kind, one.id) == ("bucket", bucket.name) for one in known
    )
    foreign = [one for one in left.objects if one not in _DOCUMENTS]
    if not (recorded or names.our_bucket(bucket, unwanted.name, left.number)):
        label = f"{names.LABEL}={unwanted.name}"
        hint = f"; set the label {label} to delete it" if bucket.project == left.number else ""
        remarks.append(f"bucket {bucket.name} has no mark of vestibule: not deleted{hint}")
    elif foreign:
        remarks.append(f"bucket {bucket.name} holds other objects ({', '.join(foreign[:3])}): not deleted")
    else:
        action, resource = (
            actions.DeleteGcpResource("bucket", bucket.name),
            OwnedResource("bucket", bucket.name),
        )
        yield PlannedStep(f"bucket/{bucket.name}", "delete", f"bucket {bucket.name}", action, (), resource)
