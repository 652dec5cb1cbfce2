"""What exists: reads, and no decisions."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from vestibule.clouds.gcp.buckets import GcsBucket
from vestibule.clouds.gcp.pools import PoolProvider, WorkloadIdentityPool
from vestibule.clouds.gcp.project import Project
from vestibule.clouds.gcp.serviceaccounts import GcpCustomRole, GcpServiceAccount
from vestibule.provision.gcp import names, policies
from vestibule.provision.gcp.request import GcpRequest, permissions_of


class ObservedGcp(NamedTuple):
    """The project as it was a moment ago."""

    number: str = ""
    bucket: GcsBucket | None = None
    public: bool = False
    pool: WorkloadIdentityPool | None = None
    providers: Mapping[str, PoolProvider] = {}
    """Of the pool."""
    accounts: tuple[GcpServiceAccount, ...] = ()
    roles: Mapping[str, GcpCustomRole] = {}
    policy: Mapping[str, Any] = {}
    trusts: Mapping[str, Mapping[str, Any]] = {}
    """Who may act as an account, by its e-mail."""


def pool(project: Project, desired: GcpRequest, found: ObservedGcp) -> ObservedGcp:
    """The pool."""
    return found._replace(pool=project.pools.pool(desired.pool_name))


def providers_of(project: Project, found: WorkloadIdentityPool | None) -> Mapping[str, PoolProvider]:
    """The providers of a pool; those of a deleted one come back with it, and are not listed before."""
    return project.pools.providers(found.name) if found is not None and not found.deleted else {}


def issuer(project: Project, desired: GcpRequest, found: ObservedGcp) -> ObservedGcp:
    """Providers and bucket; the pool is known. Keys in the provider need no bucket, unless those that are
    used now are in one."""
    providers = providers_of(project, found.pool)
    provider = providers.get(desired.name)
    if desired.embedded and (provider is None or provider.keys):
        return found._replace(providers=providers)
    bucket = project.buckets.bucket(names.bucket(desired.name))
    public = False
    if bucket is not None and names.our_bucket(bucket, desired.name, found.number):
        policy = project.buckets.policy(bucket.name)
        public = policies.holds(policy, names.VIEWER, names.ALL_USERS)
    return found._replace(providers=providers, bucket=bucket, public=public)


def accounts(project: Project, desired: GcpRequest, parallel: int, found: ObservedGcp) -> ObservedGcp:
    """Accounts, the roles of the requests, and who has which."""
    requested = [
        names.role(desired.project, request)
        for request in desired.requests
        if permissions_of(request)[0].permissions
    ]
    displays = {names.display(desired.name, request) for request in desired.requests}
    listed = project.accounts.listed()
    emails = [one.email for one in listed if one.display in displays]
    with ThreadPoolExecutor(parallel, thread_name_prefix="observe") as workers:
        roles = workers.map(project.accounts.role, requested)
        trusts = workers.map(project.accounts.policy, emails)
    return found._replace(
        accounts=listed,
        roles={role.id: role for role in roles if role is not None},
        policy=project.policy(),
        trusts=dict(zip(emails, trusts, strict=True)),
    )
